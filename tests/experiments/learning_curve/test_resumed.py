"""`bakeoff curve` whose sweep is killed and resumed: the same runs, each once, and the same numbers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.coloured import SMALL, coloured
from support.drawing import write
from support.workspace_copy import Workspace, environment, tiny_workspace

LINES = SMALL | {"data": "data: {use: image_folders, path: data/raw/set, split: {validation: 0.4}}"}
PICTURES, SECONDS = 240, 300
CURVE = ("--shares", "0.2,0.5,1", "--seeds", "2")


def start_curve(workspace: Workspace) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "curve", *CURVE, "--yes", "--quiet"], cwd=workspace.folder,
        env=environment(), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def read_states(workspace: Workspace) -> list[str]:
    files = sorted((workspace.folder / ".bakeoff/sweeps").glob("*/manifest.json"))
    return [job["state"] for job in json.loads(files[-1].read_text(encoding="utf-8"))["jobs"]] if files else []


@pytest.mark.slow
def test_a_curve_that_was_killed_resumes_to_the_same_numbers(tmp_path: Path) -> None:
    workspace = tiny_workspace(tmp_path / "clone", LINES)
    for number in range(PICTURES):
        label = number % 2
        content = coloured(label, number, mixed=4 if number % 3 else 60)
        write(workspace.folder / f"data/raw/set/{('red', 'blue')[label]}/{number:03d}.png", content)
    workspace.run("dvc", "add", "data/raw/set")
    workspace.repro("build_records")
    workspace.commit()
    whole = workspace.copy(tmp_path / "whole")
    process = start_curve(workspace)
    deadline = time.monotonic() + SECONDS
    while read_states(workspace)[:3] != ["done", "done", "running"]:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    printed = workspace.run("bakeoff", "curve", "--resume", "--quiet").stdout
    assert read_states(workspace) == ["done"] * 6
    rows = [line.split() for line in printed.splitlines() if line[:1].isdigit() and " of " not in line]
    assert [row[:2] for row in rows] == [["29", "2"], ["72", "2"], ["144", "2"]]
    values = read_values(workspace.run("bakeoff", "curve", "--show", "--json").stdout)
    whole.run("bakeoff", "curve", *CURVE, "--yes", "--quiet")
    assert read_values(whole.run("bakeoff", "curve", "--show", "--json").stdout) == values
    assert len(set(values.values())) > 2


def read_values(text: str) -> dict[tuple[float, int], float]:
    """Return the value of each share and seed."""
    tree: dict[str, Any] = json.loads(text)
    return {(point["share"], point["seed"]): point["value"] for point in tree["points"]}
