"""Ctrl-C and a kill: no traceback, no half output."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bakeoff.foundation.errors import STOPPED
from support.messages import missing_in
from support.workspace_copy import Workspace, environment, tiny_workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With records and a long training ahead."""
    workspace = tiny_workspace(
        tmp_path_factory.mktemp("rendered") / "clone",
        {"train": "train: {use: smoke, steps: 100000}", "track": "track: {use: none}"},
    )
    workspace.render()
    return workspace


@pytest.fixture
def workspace(rendered: Workspace, tmp_path: Path) -> Workspace:
    return rendered.copy(tmp_path / "clone")


def start_training(workspace: Workspace) -> subprocess.Popen[str]:
    """Return it when two lines are in its history, which takes the place of what an earlier one left."""
    left = read_history(workspace)
    process = subprocess.Popen(
        [sys.executable, "-m", "bakeoff.stages.train"], cwd=workspace.folder, env=environment(), start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 50
    while len(lines := read_history(workspace)) < 2 or lines == left:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    return process


def read_history(workspace: Workspace, folder: str = "train.partial") -> list[str]:
    try:
        return (workspace.folder / "models" / folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def test_after_a_kill_the_next_run_starts_clean_and_ctrl_c_ends_it_with_a_whole_result(workspace: Workspace) -> None:
    process = start_training(workspace)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (workspace.folder / "models/train").exists()
    assert len(read_history(workspace)) >= 2
    workspace.edit("params.yaml", "seed: 0", "seed: 1")
    workspace.render()

    process = start_training(workspace)
    os.killpg(process.pid, signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in printed
    assert missing_in(printed, "Ctrl-C: ", "after this step", "Ctrl-C again") == []
    state = workspace.state()
    assert (state["state"], state["stopped_by"]) == ("STOPPED", "Ctrl-C") and 0 < state["step"] < state["steps"]
    assert not (workspace.folder / "models/train.partial").exists()
    steps = [json.loads(line)["step"] for line in read_history(workspace, "train") if "learning_rate" in line]
    assert steps[0] == 2 and steps == sorted(set(steps))  # without the lines of the killed one


def test_ctrl_c_at_once_shows_no_traceback_either(workspace: Workspace) -> None:
    for delay in (0.15, 0.4, 1.0, 2.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.stages.train"], cwd=workspace.folder, env=environment(),
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, printed = process.communicate(timeout=30)
        if process.returncode == 0:  # TensorFlow dropped it in the first step: training ended after that
            assert missing_in(printed, "Ctrl-C: ", "after this step") == [] and workspace.state()["step"] > 0
            return
        assert process.returncode in (130, -signal.SIGINT), printed
        assert "bakeoff" not in printed or printed.splitlines() == [STOPPED], (
            printed
        )  # before Python reads any of our code it is Python's


def test_what_a_library_makes_of_an_early_ctrl_c_is_no_traceback(tmp_path: Path) -> None:
    """As NumPy does, whose parts in C load others: their failure is an error of its own."""
    ends = "raise ImportError('no capsule')", "pass"
    for end in ends:
        script = f"""
import os, signal, sys
sys.argv = ["-m"]  # as Python has it while it looks for a stage
import bakeoff.stages
from bakeoff.foundation.errors import errors_in_one_line
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except BaseException:
    {end}
with errors_in_one_line():
    bakeoff.stages.begin_stage("train", None)
print("went on")
"""
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr.splitlines()) == (130, "", [STOPPED])
