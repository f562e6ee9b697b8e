"""A whole workspace of which the machine, or somebody beside, takes something away: one line, and nothing rewritten."""

import json
import platform
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import ConfigError
from support.commands import Bakeoff
from support.made_runs import made
from support.messages import missing_in
from support.run_journals import write_run
from support.workspace_copy import Workspace, environment, tiny_workspace

TRAIN = ("python", "-m", "bakeoff.stages.train")
BAKEOFF = ("python", "-m", "bakeoff")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With records and a rendered variant."""
    workspace = tiny_workspace(tmp_path_factory.mktemp("built") / "clone")
    workspace.render()
    return workspace


@pytest.fixture(scope="module")
def trained(built: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = built.copy(tmp_path_factory.mktemp("trained") / "clone")
    workspace.run(*TRAIN)
    return workspace


@pytest.fixture
def workspace(built: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A copy, in which the test stands."""
    workspace = built.copy(tmp_path / "clone")
    monkeypatch.chdir(workspace.folder)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return workspace


@pytest.fixture
def read_only(built: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """With two runs, on a disk that nobody may write to, not even root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    try:
        workspace = built.copy(disk / "clone")
        monkeypatch.delenv("DVC_ROOT", raising=False)
        with monkeypatch.context() as there:
            there.chdir(workspace.folder)
            for run_id, state in (("0f", "FINISHED"), ("1e", None)):
                journal = write_run(run_id, {"evaluation/mAP_50": 0.5}, state=state)
                (journal.folder / "running").write_text(f"{platform.node()}\n")  # as one that was killed
                made(Path(".bakeoff/runs"), f"{run_id}aa", State.SUCCEEDED, ago=60)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield workspace
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def in_mlflow(workspace: Workspace) -> dict[str, Any]:
    """All that the store has of the one run, but for when its parameters were written."""
    workspace.run(*BAKEOFF, "track", "sync")
    with closing(sqlite3.connect(workspace.folder / "mlflow.db")) as store:
        tables = {
            table: sorted(store.execute(f"SELECT {columns} FROM {table}").fetchall())
            for table, columns in (
                ("runs", "run_uuid, status, start_time, end_time"), ("tags", "key, value"), ("params", "key, value"),
                ("metrics", "key, step, value"),
            )
        }  # fmt: skip
    [run] = tables["runs"]
    return tables | {"runs": run}


@pytest.mark.slow
def test_a_life_of_training_that_takes_no_step_rewrites_nothing_of_its_run(trained: Workspace, tmp_path: Path) -> None:
    """Neither how much memory it took, nor how long, nor when it ended, nor by which code."""
    workspace = trained.copy(tmp_path / "clone")
    state = workspace.state()
    fingerprint = state["lineage"]["fingerprint"]
    files = [f".bakeoff/results/{fingerprint}.json", f".bakeoff/runs/{fingerprint}/status.json"]
    before = {name: (workspace.folder / name).read_text() for name in files if (workspace.folder / name).is_file()}
    store = in_mlflow(workspace)
    workspace.edit("params.yaml", "seed: 0", "seed: 0  # another thought")
    workspace.commit()
    shutil.rmtree(workspace.folder / "models/train")
    output = workspace.run(*TRAIN).stdout
    peak = f"{state['peak_memory_bytes'] / 1e9:.1f} GB"
    assert "trained to its end" in output and f"peak memory {peak}" in output
    assert {name: (workspace.folder / name).read_text() for name in before} == before and len(before) >= 2
    assert workspace.state() == state
    assert in_mlflow(workspace) == store


@pytest.mark.slow
def test_lines_that_a_checkpoint_counts_as_told_are_told_again_if_the_journal_lost_them(
    trained: Workspace, tmp_path: Path
) -> None:
    workspace = trained.copy(tmp_path / "clone")
    store = in_mlflow(workspace)
    [journal] = (workspace.folder / ".bakeoff/journal").glob("*/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"train/loss"' in line)
    journal.write_bytes(b"".join(lines[:first]))
    shutil.rmtree(workspace.folder / "models/train")
    workspace.run(*TRAIN)
    write_run = b"".join(journal.read_bytes().splitlines()[first:])
    assert write_run.count(b'"train/loss"') == b"".join(lines).count(b'"train/loss"') > 0
    store_after = in_mlflow(workspace)
    assert store_after["runs"][:2] == store["runs"][:2]
    ours = [[row for row in one["metrics"] if not row[0].startswith("system/")] for one in (store, store_after)]
    assert ours[0] == ours[1] != []


def test_what_only_looks_works_where_nobody_may_write(read_only: Workspace, bakeoff: Bakeoff) -> None:
    for words, shown in (
        (["status"], "SUCCEEDED"), (["compare"], "0.500"), (["track", "status"], "2 runs, 0 sent whole"),
        (["clean"], "stays: the newest"),
    ):  # fmt: skip
        with chdir(read_only.folder):
            done = bakeoff(*words)
        assert (done.code, done.err) == (0, "") and shown in done.out


def test_what_has_to_write_says_in_one_line_where_it_may_not(read_only: Workspace) -> None:
    for command in (TRAIN, (*BAKEOFF, "clean", "--yes"), (*BAKEOFF, "queue", "start")):
        done = read_only.run(*command, ok=False)
        [line] = done.stderr.splitlines()
        assert done.returncode == 2 and str(read_only.folder) in line, command
        assert "Read-only file system" in line


@pytest.mark.slow
def test_a_training_whose_work_is_removed_ends_in_one_line_and_as_failed_in_mlflow(
    built: Workspace, tmp_path: Path
) -> None:
    workspace = built.copy(tmp_path / "clone")
    workspace.edit("params.yaml", "steps: 2", "steps: 100000, checkpoint_every_steps: 20")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    with subprocess.Popen(
        [sys.executable, *TRAIN[1:]], cwd=workspace.folder, env=environment(), stderr=subprocess.PIPE, text=True,
        stdout=subprocess.DEVNULL,
    ) as training:  # fmt: skip
        deadline = time.monotonic() + 120
        while not (list(workspace.folder.glob(".bakeoff/runs/*/1-*/0*")) and _status(workspace) == ["RUNNING"]):
            assert time.monotonic() < deadline and training.poll() is None
            time.sleep(0.1)
        shutil.rmtree(workspace.folder / ".bakeoff", ignore_errors=True)
        output = training.communicate(timeout=60)[1]
    assert training.returncode == 2 and "Traceback" not in output, output
    assert "was removed" in output.splitlines()[-1]
    workspace.run(*BAKEOFF, "track", "sync")
    assert _status(workspace) == ["FAILED"]


def _status(workspace: Workspace) -> list[str]:
    store = workspace.folder / "mlflow.db"
    if not store.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as runs:
            return [status for (status,) in runs.execute("SELECT status FROM runs")]
    except sqlite3.OperationalError:  # it is being made
        return []


def test_a_metric_that_no_validation_gives_is_refused_before_anything_runs(
    workspace: Workspace, bakeoff: Bakeoff
) -> None:
    parts = ("train.best_by: ", "'nonsense'", "'loss'", "AR_1, ")
    done = bakeoff("plan", "train.best_by=nonsense")
    assert done.code == 2 and missing_in(done.err, *parts) == []
    assert done.err.startswith("command line: train.best_by: ") and done.err.count("\n") == 1
    done = bakeoff("sweep", "train.best_by=mAP,nonsense", "--dry-run")
    assert done.code == 2 and missing_in(done.err, *parts) == []
    workspace.edit("params.yaml", "steps: 2", "best_by: nonsense, steps: 2")
    with pytest.raises(ConfigError, match=r"^params\.yaml:9: train\.best_by: ") as refused:
        workspace.render()
    assert missing_in(str(refused.value), *parts) == []


def test_plan_knows_of_the_time_limit_and_names_a_lock_that_is_none(workspace: Workspace, bakeoff: Bakeoff) -> None:
    with (workspace.folder / ".bakeoff/durations.jsonl").open("ab") as file:
        file.write(b"\xff\xfe\x00 no line of ours")
    plan = json.loads(bakeoff("plan", "--json", "++train.max_minutes=0.5", "train.steps=99").out)
    assert plan["stage_seconds"]["train"] >= 30 and plan["seconds_from"].startswith("train.max_minutes ends it; ")
    (workspace.folder / "dvc.lock").write_bytes(b"\x00" * 99)
    done = bakeoff("plan")
    assert done.code == 2 and done.err.startswith("dvc.lock: ") and "what DVC reads" in done.err
    assert done.err.count("\n") == 1
