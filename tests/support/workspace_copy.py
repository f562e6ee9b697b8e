"""A copy of this repository as a new user has it, small enough to run end to end in a test."""

import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bakeoff.config.compose.data_source import choose_source
from bakeoff.config.compose.variant import read_variant
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.new_workspace import make_workspace
from support.imports import ROOT

TAG = sys.implementation.cache_tag  # in names of compiled code
TINY = {
    "data": "data: {use: digits, train_examples: 12, validation_examples: 6}",
    "model": "model: {use: ssd_tiny, input_size: 64}",
    "lr": "lr: {use: cosine, warmup_steps: 0}",
    "optimizer": "optimizer: {use: sgd}",  # its graph is made faster than Adam's
    "train": "train: {use: smoke, steps: 2, batch_size: 4}",
    "export": "export: {use: saved_model}",
}


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(command, cwd=self.folder, env=environment(), capture_output=True, text=True)
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done

    def repro(self, *arguments: str) -> set[str]:
        """The stages that ran."""
        return set(re.findall(r"Running stage '(\w+)'", self.dvc("repro", *arguments)))

    def dvc(self, *words: str) -> str:
        """What the command `dvc` prints, run in this process; its stages are processes as ever."""
        code, out, errors = run_dvc(*words, folder=self.folder)
        assert code == 0, out + errors
        return out

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def state(self) -> dict[str, Any]:
        """What the training in models/ came to, with what was measured of it."""
        state = json.loads((self.folder / "models/train/state.json").read_text(encoding="utf-8"))
        results = self.folder / ".bakeoff/results" / f"{state['lineage']['fingerprint']}.json"
        return state | json.loads(results.read_text(encoding="utf-8"))

    def learn_network(self) -> None:
        """Keep in the workspace what rendering needs TensorFlow for, which this process has loaded anyway."""
        from bakeoff.stages.build_records import build_records

        with chdir(self.folder), TemporaryDirectory() as folder:
            records, facts = Path(folder, "records"), Path(workspace.IN_FLIGHT, "networks")
            build_records(choose_source(workspace.PARAMS, workspace.CONF).source, records, workers=1)
            read_variant(workspace.PARAMS, workspace.CONF, records, facts=facts).whole()

    def build(self) -> None:
        """Build the records as the first stage does, by its function and in this process."""
        from bakeoff.stages.build_records import build_records

        with chdir(self.folder):
            chosen = choose_source(workspace.PARAMS, workspace.CONF)
            build_records(chosen.source, workspace.RECORDS, source_digest=chosen.digest, workers=1)

    def render(self) -> None:
        """Do what the first two stages do, by their functions and in this process."""
        from bakeoff.stages.render_config import render_config

        if not (self.folder / workspace.RECORDS).exists():
            self.build()
        with chdir(self.folder):
            facts = Path(workspace.IN_FLIGHT, "networks")
            render_config(workspace.PARAMS, workspace.CONF, workspace.RECORDS, workspace.RUN, facts=facts)
            workspace.promise(trained_to_its_end=True)

    def prepare(self) -> None:
        """Leave and commit what `dvc repro render_config` makes, without a process."""
        self.render()
        for stage in ("build_records", "render_config"):
            self.commit_stage(stage)
        self.commit()

    def records_digest(self) -> str:
        return read_manifest(self.folder / workspace.RECORDS).digest

    def changed_dependencies(self, stage: str) -> set[str]:
        """What DVC says has changed since the stage ran, as `dvc status` does."""
        from dvc.repo import Repo

        with chdir(self.folder), Repo() as repo:
            status = repo.status([stage]).get(stage, [])
        return {path for entry in status for path in entry.get("changed deps", {})}

    def commit_stage(self, stage: str) -> None:
        """Take what is there for what the stage made, as `dvc commit` does."""
        from dvc.repo import Repo

        with chdir(self.folder), Repo() as repo:
            repo.commit(stage, force=True)

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "change")

    def copy(self, folder: Path) -> "Workspace":
        shutil.copytree(self.folder, folder, symlinks=True)
        return Workspace(folder)


def run_dvc(*words: str, folder: Path, program: Callable[[], int | None] = dvc.main) -> tuple[int, str, str]:
    """Exit code, output and errors of the command `dvc`, or of another that runs DVC, run in this process."""
    out, errors = io.StringIO(), io.StringIO()
    handlers = [one for one in logging.getLogger("dvc").handlers if isinstance(one, logging.StreamHandler)]
    with (
        chdir(folder), redirect_stdout(out), redirect_stderr(errors),
        pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"),
    ):  # fmt: skip
        for handler in handlers:  # of all loggers of DVC's, which print where it was first loaded
            patch.setattr(handler, "stream", errors if handler.level >= logging.WARNING else out)
        for key in os.environ.keys() - environment().keys():
            patch.delenv(key)
        for key, value in environment().items():
            patch.setenv(key, value)
        patch.setattr(sys, "argv", ["dvc", *words])
        code = 0
        try:
            code = program() or 0
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), errors.getvalue()


def environment() -> dict[str, str]:
    """This interpreter's commands first, and nothing of an experiment that may run the tests; what Python compiles is
    kept for the next process, and DVC reports to nobody."""
    left_out = ("DVC", "MLFLOW", "GIT_", "TF_", "PYTHONDONTWRITEBYTECODE")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    names = {f"GIT_{role}_{part}": "t@localhost" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    return kept | names | {"PATH": path, "DVC_NO_ANALYTICS": "1"}


def tiny_workspace(folder: Path, lines: dict[str, str] | None = None) -> Workspace:
    """The repository's files in a git repository of their own, with a variant that takes seconds."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(
            ("tests/", "docs/", "dvc.lock", "models/config/", "models/ev")
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
            for compiled in (ROOT / name).parent.glob(f"__pycache__/{Path(name).stem}.{TAG}.pyc"):
                (folder / name).parent.joinpath("__pycache__").mkdir(exist_ok=True)
                shutil.copy2(compiled, (folder / name).parent / "__pycache__")
    return _shrunk(folder, lines)


def made_workspace(folder: Path, lines: dict[str, str] | None = None) -> Workspace:
    """A workspace that `bakeoff init --example` makes, with a variant that takes seconds."""
    make_workspace(folder, example=True)
    return _shrunk(folder, lines)


def _shrunk(folder: Path, lines: dict[str, str] | None) -> Workspace:
    params = (folder / "params.yaml").read_text(encoding="utf-8")
    for key, line in (TINY | (lines or {})).items():
        params = re.sub(rf"^{key}:.*$", line, params, flags=re.MULTILINE)
    (folder / "params.yaml").write_text(params, encoding="utf-8")
    copy = Workspace(folder)
    copy.run("git", "init", "--quiet", "--initial-branch=main")
    copy.commit()
    return copy
