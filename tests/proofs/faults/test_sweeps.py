"""Sweeps that are killed again and again. A quarter of an hour."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proofs.faults.sweep_checks import experiments, faults, manifests, mlflow_runs, standing
from proofs.faults.sweeps import WORDS, is_half_trained, prepared, swept
from support.workspace_copy import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


def test_a_sweep_that_is_killed_again_and_again_does_each_point_once(tmp_path: Path) -> None:
    workspace = prepared(tmp_path / "clone")
    before = standing(workspace)
    done = swept(workspace, random.Random(7), 3, 2, ("-j", "2"), (*WORDS[:2], "seed=0"))
    assert (done.launchers, done.jobs) == (3, 2)
    workspace.run("python", "-m", "bakeoff", "track", "sync")
    assert faults(workspace, before, 4) == []


def test_weights_do_not_depend_on_how_many_jobs_run_side_by_side(tmp_path: Path) -> None:
    """With two, each is bound to a part of the cores."""
    workspace, digests = prepared(tmp_path / "clone"), []
    for number in ("1", "2"):
        cut = workspace.copy(tmp_path / number)
        cut.run("python", "-m", "bakeoff", "sweep", "-j", number, "lr=cosine,exponential", "--until", "train")
        cut.run("python", "-m", "bakeoff", "track", "sync")
        logged = [run["bakeoff.weights_sha256"] for run in mlflow_runs(cut) if "bakeoff.weights_sha256" in run]
        digests.append(sorted(logged))
    assert digests[0] == digests[1] and len(set(digests[0])) == 2


def test_a_job_that_was_stopped_is_not_done_and_trains_on_when_it_is_resumed(tmp_path: Path) -> None:
    workspace = prepared(tmp_path / "clone", {"train": "train: {use: smoke, batch_size: 4, steps: 1500}"})
    command = [sys.executable, "-m", "bakeoff", "sweep", "lr=exponential"]
    launcher = subprocess.Popen(command, cwd=workspace.folder, env=environment(), stdout=subprocess.DEVNULL)
    while not is_half_trained(workspace):
        assert launcher.poll() is None
        time.sleep(0.2)
    workspace.run("python", "-m", "bakeoff", "stop")
    assert launcher.wait() == 130
    [job] = manifests(workspace)[0]["jobs"]
    assert job["state"] == "stopped" and re.fullmatch(r"stopped after step [\d,]+ of 1,500", job["attempts"][0]["why"])
    printed = workspace.run("python", "-m", "bakeoff", "sweep", "--resume").stdout
    assert "resumes after step" in printed
    [job] = manifests(workspace)[0]["jobs"]
    assert [attempt["state"] for attempt in job["attempts"]] == ["stopped", "done"]
    assert experiments(workspace) == [job["experiment"]]
