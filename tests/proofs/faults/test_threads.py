"""Threads in one operation: their number decides the last bits, cores do not, and a killed run goes on with its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bakeoff.foundation.machine import THREADS, cores
from support.workspace_copy import Workspace, environment, tiny_workspace

pytestmark = pytest.mark.slow
LINES = {
    "data": "data: {use: digits, train_examples: 64, validation_examples: 8}",
    "model": "model: {use: ssd_small}",
    "train": (
        "train: {use: demo, batch_size: 32, steps: 24, log_every_steps: 2, validate_every_steps: 0, samples: 2, "
        "checkpoint_every_steps: 4}"
    ),
    "lr": "lr: {kind: constant, peak: 0.01}",
    "track": "track: {use: none}",
}


def train(workspace: Workspace, threads: int, *pinned: str, until: int | None = None) -> str:
    """Train, or kill it once so many steps are done; return what it printed."""
    command = [*pinned, sys.executable, "-m", "bakeoff.stages.train"]
    process = subprocess.Popen(
        command, cwd=workspace.folder, env=environment() | {THREADS: str(threads)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if until is None:
        printed, _ = process.communicate()
        assert process.returncode == 0, printed
        return printed
    while process.poll() is None and not list(workspace.folder.glob(f".bakeoff/runs/*/*/{until:08d}")):
        time.sleep(0.01)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def weights(workspace: Workspace) -> str:
    sha256 = workspace.state()["weights_sha256"]
    assert isinstance(sha256, str)
    return sha256


@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_a_killed_run_goes_on_with_its_threads_wherever_it_is_resumed(tmp_path: Path) -> None:
    whole, killed, other, pinned = (
        tiny_workspace(tmp_path / name, LINES) for name in ("whole", "killed", "other", "pinned")
    )
    for workspace in (whole, killed, other, pinned):
        workspace.prepare()
    assert "2 threads in one operation" in train(whole, 2)
    train(killed, 2, until=8)
    assert "2 threads in one operation" in train(killed, 1)
    train(other, 1)
    train(pinned, 2, "taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))
    assert weights(killed) == weights(whole) == weights(pinned)
    assert weights(other) != weights(whole)  # or all of this would show nothing
