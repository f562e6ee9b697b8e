"""A recorded run, made again: its stages in a fresh workspace, each compared before the next begins.

The verdict becomes tags of the run that it is about, and a run of its own if asked for; by journals, as all else.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.experiments.reproduce import reproduction_verdict
from bakeoff.experiments.reproduce.clean_clone import fresh_workspace, run_command
from bakeoff.experiments.reproduce.maker_environment import Maker, is_built, python_of
from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.reproduction_verdict import (
    BUILD_RECORDS,
    EVALUATE,
    RENDER_CONFIG,
    STAGES,
    TRAIN,
    Compared,
    ReproductionVerdict,
)
from bakeoff.experiments.reproduce.run_inputs import bring
from bakeoff.experiments.reproduce.what_is_missing import Here, Lack, find_lacks, is_cut_off, threads_of
from bakeoff.foundation import dvc, machine, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_json, read_text
from bakeoff.foundation.formatting import make_printable
from bakeoff.foundation.shipped import code_stage
from bakeoff.tracking.results.results import Result, parse_yaml, result_in
from bakeoff.tracking.sync.sync_status import send_beside
from bakeoff.tracking.tracker import new_run_id, report_result

# The group as the recorded commit has it. The rest stays as it is written, for the reader of that commit.
TRACK = re.compile(r"^track:.*\n(?:[ \t].*\n|\n)*", re.MULTILINE)
UNTRACKED = "track: {use: none} # this is the proof, not the run\n"
REPRODUCED, REPRODUCED_AT = "bakeoff.reproduced", "bakeoff.reproduced_at"
OF, OF_IN_MLFLOW = "bakeoff.reproduction_of", "bakeoff.reproduction_of_mlflow_run"

PrintLine = Callable[[str], None]


class CannotBeTried(WorkspaceError):
    """Something is missing without which the run cannot be made again."""


@dataclass
class Reproduction:
    """What came of making a run again, as far as it came."""

    recorded: Recorded
    lacks: list[Lack] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    made: Result | None = None
    kept: Path | None = None

    @property
    def verdict(self) -> ReproductionVerdict:
        return reproduction_verdict.reach_verdict(self.compared)


@dataclass(frozen=True)
class Wishes:
    """How a run is to be made again."""

    until: str = STAGES[-1]
    tolerance: float | None = None
    keep: bool = False
    install: bool = False  # another bakeoff, from an address that the run's tags name


def make_again(attempt: Reproduction, print_line: PrintLine, wishes: Wishes) -> None:
    """Fill the attempt in; raise CannotBeTried if what is missing leaves nothing to try."""
    recorded = attempt.recorded
    _report_lacks(attempt, find_lacks(recorded, Here.now(recorded.commit)), print_line)
    assert recorded.commit
    python, threads = _choose_python(recorded, print_line, installs=wishes.install), threads_of(recorded)
    with fresh_workspace(recorded.commit, recorded.patch, keep=wishes.keep) as folder:
        attempt.kept = folder if wishes.keep else None
        print_line(
            f"workspace: {folder}, at commit {recorded.commit[:12]}{' with its changes' if recorded.patch else ''}"
        )
        _report_lacks(
            attempt,
            [*_lacking_stages(folder), *bring(recorded.run_yaml, recorded.state, folder, print_line)],
            print_line,
        )
        _keep_to_itself(folder / workspace.PARAMS)
        for stage in code_stage(folder):
            _run_stage(stage, folder, python, print_line, threads)
        for stage in STAGES[: STAGES.index(wishes.until) + 1]:
            if stage == EVALUATE and is_cut_off(recorded) and attempt.compared[-1].same is not True:
                break  # its weights are of another step than those that were evaluated
            attempt.seconds[stage] = _run_stage(stage, folder, python, print_line, threads)
            compared = _compare(stage, recorded, folder, wishes.tolerance)
            attempt.compared.append(compared)
            print_line(f"{stage}: {compared.text} ({attempt.seconds[stage]:.0f} s)")
            if compared.same is False and stage in (BUILD_RECORDS, RENDER_CONFIG):
                break  # later stages would work on other inputs than the recorded run
        attempt.made = result_in(folder)


def tag_verdict(attempt: Reproduction) -> bool:
    """Return whether the run could be tagged: a run that is tracked nowhere cannot."""
    run = attempt.recorded.tracked
    return run is not None and run.tag(_tags(attempt))


def report_as_run(attempt: Reproduction) -> str | None:
    """Return our id of the new run."""
    run, made = attempt.recorded.tracked, attempt.made
    if run is None or run.run_id is None or made is None:
        return None
    run_id = new_run_id()
    journal = run.open_journal(run_id)
    journal.run(f"{attempt.recorded.variant} (reproduction)")
    journal.tags({OF: run.run_id, **_tags(attempt)})
    journal.link(OF_IN_MLFLOW, run.run_id)
    report_result(journal, made)
    journal.state("FINISHED")
    journal.close()
    send_beside()
    return run_id


def _report_lacks(attempt: Reproduction, lacking: list[Lack], print_line: PrintLine) -> None:
    """Print all that is missing, before the first that is fatal ends it."""
    attempt.lacks += lacking
    for lack in lacking:
        print_line(f"{'missing' if lack.is_fatal else 'note'}: {lack.text}")
    if fatal := [lack.text for lack in lacking if lack.is_fatal]:
        raise CannotBeTried(f"{attempt.recorded.called}: cannot be made again, for something is missing: {fatal[0]}")


def _lacking_stages(folder: Path) -> Iterator[Lack]:
    there = parse_yaml(read_text(folder / "dvc.yaml")).get("stages") or {}
    if gone := [stage for stage in STAGES if stage not in there]:
        yield Lack(f"dvc.yaml: had no stage {', '.join(gone)} then, so this command cannot follow it", True)


def _keep_to_itself(params: Path) -> None:
    """The proof is no new run of the tracking store; `track` decides nothing but where copies go."""
    text = params.read_text(encoding="utf-8").rstrip("\n")
    params.write_text(TRACK.sub("", f"{text}\n") + UNTRACKED, encoding="utf-8")


def _choose_python(recorded: Recorded, print_line: PrintLine, *, installs: bool) -> Path | None:
    """Return the Python of another bakeoff, which made the run; None where the one of this process does.

    Tags come from a server, so what they name is installed only if the user has said so.
    """
    maker = Maker.of(recorded.tags)
    if maker is None or maker.is_here or maker.address is None:
        return None
    if not (installs or is_built(maker)):
        raise CannotBeTried(
            f"{recorded.called}: cannot be made again: {maker.label} made it, and another bakeoff is installed; "
            f"`bakeoff reproduce {recorded.called} --install` installs that one beside this one, from "
            f"{make_printable(maker.address)}, and runs its code"
        )
    try:
        python = python_of(maker, print_line)
    except WorkspaceError as error:
        raise CannotBeTried(f"{recorded.called}: cannot be made again: {error}") from None
    print_line(f"environment: {python.parents[1]}, with {maker.label}, which made the run")
    return python


def _run_stage(stage: str, folder: Path, python: Path | None, print_line: PrintLine, threads: int | None) -> float:
    """Run it for real: neither dvc.lock nor DVC's cache of runs is asked, and nothing goes into the cache."""
    print_line(f"{stage}: runs")
    began = time.monotonic()
    words = ("repro", "--single-item", "--force", "--no-run-cache", "--no-commit", stage)
    command = [str(python), "-m", "dvc", *words] if python else dvc.command(*words)
    code, lines = run_command(
        command, folder, lambda line: print_line(f"  {line}"), {machine.THREADS: str(threads)} if threads else None
    )
    if code:
        last = [line for line in lines if line and not line.startswith("ERROR")][-1:]
        raise CannotBeTried(f"{stage}: failed with code {code} ({' '.join(last)}); its output stands above")
    return time.monotonic() - began


def _compare(stage: str, recorded: Recorded, folder: Path, tolerance: float | None) -> Compared:
    made = result_in(folder)
    if stage == BUILD_RECORDS:
        manifest = read_json(folder / workspace.RECORDS / "manifest.json")
        return reproduction_verdict.compare_records(recorded, str(manifest["digest"]))
    if stage == RENDER_CONFIG:
        return reproduction_verdict.compare_config(recorded, made.variant)
    if stage == TRAIN:
        return reproduction_verdict.compare_training(recorded, made.state, made.lines)
    return reproduction_verdict.compare_metrics(recorded, made.metrics, tolerance)


def _tags(attempt: Reproduction) -> Mapping[str, str]:
    reached = attempt.verdict
    where = f" at {reached.stage}" if reached.stage else ""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {REPRODUCED: f"{reached.outcome}{where}", REPRODUCED_AT: at}
