"""Ctrl-C, a kill and a full disk: one line, an exit code, and the old outputs as they were."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bakeoff.errors import STOPPED
from workspace_copy import Workspace, environment, tiny_workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """With records and a long training ahead."""
    workspace = tiny_workspace(
        tmp_path / "clone", {"train": "train: {use: smoke, steps: 100000}", "track": "track: {use: none}"}
    )
    workspace.run("python", "-m", "bakeoff.stages.build_records")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    return workspace


def start_training(workspace: Workspace) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bakeoff.stages.train"], cwd=workspace.folder, env=environment(), start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    history = workspace.folder / "models/train.partial/history.jsonl"
    deadline = time.monotonic() + 50
    while not (history.exists() and history.read_text().count("\n") >= 2):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    return process


def test_ctrl_c_stops_without_a_traceback_and_leaves_no_half_output(workspace: Workspace) -> None:
    old = workspace.folder / "models/train"
    old.mkdir()
    (old / "state.json").write_text("old", encoding="utf-8")
    process = start_training(workspace)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines() == [STOPPED]
    assert (old / "state.json").read_text() == "old"
    assert not (workspace.folder / "models/train.partial").exists()


def test_after_a_kill_the_next_run_starts_clean(workspace: Workspace) -> None:
    process = start_training(workspace)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (workspace.folder / "models/train").exists()
    workspace.edit("params.yaml", "steps: 100000", "steps: 2")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    workspace.run("python", "-m", "bakeoff.stages.train")
    history = (workspace.folder / "models/train/history.jsonl").read_text(encoding="utf-8")
    assert [line.startswith('{"step": 2') for line in history.splitlines()] == [True, True]


def test_ctrl_c_at_once_shows_no_traceback_either(workspace: Workspace) -> None:
    for delay in (0.15, 0.4, 1.0, 2.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.stages.train"], cwd=workspace.folder, env=environment(),
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode in (130, -signal.SIGINT), said
        assert "bakeoff" not in said or said.splitlines() == [STOPPED], (
            said
        )  # before Python reads any of our code it is Python's
