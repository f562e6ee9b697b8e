"""Ctrl-C and a kill: no traceback, no half output."""

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


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With records and a long training ahead."""
    workspace = tiny_workspace(
        tmp_path_factory.mktemp("rendered") / "clone",
        {"train": "train: {use: smoke, steps: 100000}", "track": "track: {use: none}"},
    )
    workspace.run("python", "-m", "bakeoff.stages.build_records")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    return workspace


@pytest.fixture
def workspace(rendered: Workspace, tmp_path: Path) -> Workspace:
    return rendered.copy(tmp_path / "clone")


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


def test_ctrl_c_ends_training_after_its_step_and_leaves_a_whole_result(workspace: Workspace) -> None:
    process = start_training(workspace)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in said
    assert "Ctrl-C: training ends after this step and is saved, then evaluated; Ctrl-C again stops at once" in said
    state = workspace.state()
    assert (state["state"], state["stopped_by"]) == ("STOPPED", "Ctrl-C") and 0 < state["step"] < state["steps"]
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
