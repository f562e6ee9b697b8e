"""`bakeoff continue`: a run whose work in flight is gone, from its newest checkpoint in MLflow."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bakeoff.app.cli.command_options import Command, argument, flag
from bakeoff.app.cli.terminal import RUN
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.formatting import format_names
from bakeoff.foundation.progress import print_line
from bakeoff.learning.plan.run_length import format_done

if TYPE_CHECKING:
    from bakeoff.config.track_settings import Mlflow
    from bakeoff.tracking.fetch_checkpoints import StoredWork
    from bakeoff.tracking.journal.checkpoint_copies import CheckpointCopy

NAMED = 5  # differences
ARRIVING = "arriving"  # a folder for the files of one checkpoint
SHOWN = 12  # characters of a digest
RENDER = (sys.executable, "-m", "bakeoff", "repro", "render_config")


@dataclass(frozen=True)
class ContinueCommand(Command):
    which: str = argument(RUN, "RUN")
    anyway: bool = flag("accept other code or libraries; weights may then differ in their last bits")
    fetch: bool = flag("only fetch the checkpoint, whatever params.yaml says")

    def run(self) -> None:
        from bakeoff.tracking.fetch_checkpoints import find_work
        from bakeoff.tracking.store.target import Target

        work = find_work(Target.from_settings(track_settings(workspace.PARAMS, workspace.CONF)), self.which)
        fetched = workspace.fetched()
        fetched.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=fetched, prefix="continue-") as folder:
            there = work.identity(Path(folder))
            itself = here(there)
            for line in refuse_other_code(there, itself, self.which, anyway=self.anyway):
                print_line(f"continue: {line}")
            copy, files = newest_whole(work, Path(folder, ARRIVING))
            if not self.fetch:
                refuse_other_training(itself, _render(), self.which)
            brought = bring(work, itself, copy, files, Path(folder, ARRIVING))
        if not brought:
            print_line("continue: this machine has a checkpoint that is as new; `bakeoff repro` resumes from it")
            return
        work.take_over()
        steps = itself["derived"]["phases"][-1]
        last = steps["first_step"] + steps["steps"]
        after = f"after step {format_done(copy.step, last)}, from {work.target.shown}"
        print_line(f"continue: {work.run.name}, run {work.short}: {after}")
        if work.run.status == "RUNNING":
            print_line("  MLflow says that it still runs; if another machine does train it, stop it there first")
        print_line("  `bakeoff repro` resumes it, as the same run of MLflow")


def track_settings(params: Path, conf: Path) -> "Mlflow":
    """Return the store that params.yaml names."""
    from bakeoff.config.compose.compose import compose
    from bakeoff.config.compose.whole_run import GROUPS
    from bakeoff.config.track_settings import Mlflow
    from bakeoff.learning.run_file.parse import parse_kind

    composed = compose(params, conf)
    settings = parse_kind(GROUPS["track"], composed.tree.get("track", {}), "track", composed.problems)
    composed.problems.raise_any()
    if not isinstance(settings, Mlflow):
        raise ConfigError(f"{params.as_posix()}: track: is none, which names no store; set track: {{use: mlflow}}")
    return settings


def here(there: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's identity is by the code and the libraries of this workspace."""
    from bakeoff.foundation.result_code import deciding_digest
    from bakeoff.foundation.versions import library_version
    from bakeoff.learning.checkpoints.fingerprint import LIBRARIES

    return {**there, "versions": {name: library_version(name) for name in LIBRARIES}, "code": deciding_digest("train")}


def refuse_other_code(there: Mapping[str, Any], itself: Mapping[str, Any], which: str, *, anyway: bool) -> list[str]:
    """Return what is to be said of it, if it is allowed."""
    from bakeoff.learning.run_file.parse import differences

    others = [
        f"{one.key} {str(one.one)[:SHOWN]} there, {str(one.other)[:SHOWN]} here" for one in differences(there, itself)
    ]
    if others and not anyway:
        raise WorkspaceError(
            f"{which}: its checkpoints are of other code or libraries: {'; '.join(others)}; check out the run's commit "
            "(tag bakeoff.git_commit in MLflow) and install its lock, or give --anyway: weights may then differ in bits"
        )
    return [f"{line}; weights may differ in bits from those of a run that was not interrupted" for line in others]


def refuse_other_training(itself: Mapping[str, Any], rendered: Mapping[str, Any], which: str) -> None:
    from bakeoff.learning.run_file.parse import differences

    others = [f"{one.key} {one.one!r} there, {one.other!r} here" for one in differences(itself, rendered)]
    if others:
        raise ConfigError(
            f"{which}: is another training than that of params.yaml and data/records: "
            f"{format_names(others, NAMED, '; ')}; set these as they were there, or bring the data that it was trained "
            "on"
        )


def newest_whole(work: "StoredWork", folder: Path) -> tuple["CheckpointCopy", list[Path]]:
    """Fetch the newest checkpoint that is whole; return it and its files, what it needs first."""
    from bakeoff.learning.checkpoints.checkpoint import Damaged
    from bakeoff.tracking.journal.checkpoint_copies import fetch_newest

    try:
        return fetch_newest(work.copies, work.fetch, folder)
    except Damaged as error:
        raise WorkspaceError(f"run {work.short}: no checkpoint in MLflow is whole: {error}") from None


def bring(
    work: "StoredWork", itself: Mapping[str, Any], copy: "CheckpointCopy", files: list[Path], fetched: Path
) -> bool:
    """Put a checkpoint where training resumes from, unless one that is as new is there; return whether it was put."""
    from filelock import FileLock, Timeout

    from bakeoff.learning.checkpoints.continue_from import write_identity
    from bakeoff.learning.checkpoints.fingerprint import name_of
    from bakeoff.tracking.journal.checkpoint_copies import list_newer, put_in_place

    folder = workspace.in_flight(name_of(itself))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / "lock", timeout=0):
            if not list_newer([copy], folder):
                return False
            write_identity(itself, folder)
            put_in_place(files, fetched, folder, work.run.run_id)
    except Timeout:
        raise WorkspaceError(f"{folder.name}: is being trained here right now; stop it or wait for it") from None
    return True


def _render() -> Mapping[str, Any]:
    """Build records and render params.yaml, where DVC says so; return the identity of the training."""
    from bakeoff.config.compose.whole_run import load
    from bakeoff.experiments.planning.before_training import find_start
    from bakeoff.inference.evaluate.find_teacher import FoundTeacher
    from bakeoff.learning.run_file.read_write import fitting_manifest

    if subprocess.run(RENDER, check=False).returncode:
        raise WorkspaceError(f"{workspace.PARAMS.as_posix()}: cannot be rendered; what is wrong stands above")
    run = load(workspace.RUN)
    if run.train.fresh:
        raise ConfigError(f"{workspace.PARAMS.as_posix()}: train.fresh: true starts over; set it to false to resume")
    manifest = fitting_manifest(workspace.RECORDS, run.derived)
    teacher = FoundTeacher.of(run, manifest) if run.train.teacher.is_there else None
    return find_start(run, manifest, run.track, teacher.weights if teacher else None).identity
