"""Sweeps that are killed again and again. A quarter of an hour."""

import random
import sys
from pathlib import Path

import pytest

from faults.sweep_checks import faults, mlflow_runs, standing
from faults.sweeps import WORDS, prepared, swept

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


def test_a_sweep_that_is_killed_again_and_again_does_each_point_once(tmp_path: Path) -> None:
    workspace = prepared(tmp_path / "clone")
    before = standing(workspace)
    done = swept(workspace, random.Random(7), 3, 2, ("-j", "2"), (*WORDS[:2], "seed=0"))
    assert (done.launchers, done.jobs) == (3, 2)
    workspace.run("python", "-m", "bakeoff.cli", "track", "sync")
    assert faults(workspace, before, 4) == []


def test_weights_do_not_depend_on_how_many_jobs_run_side_by_side(tmp_path: Path) -> None:
    """With two, each is bound to a part of the cores."""
    workspace, digests = prepared(tmp_path / "clone"), []
    for number in ("1", "2"):
        cut = workspace.copy(tmp_path / number)
        cut.run("python", "-m", "bakeoff.cli", "sweep", "-j", number, "lr=cosine,exponential", "--until", "train")
        cut.run("python", "-m", "bakeoff.cli", "track", "sync")
        told = [run["bakeoff.weights_sha256"] for run in mlflow_runs(cut) if "bakeoff.weights_sha256" in run]
        digests.append(sorted(told))
    assert digests[0] == digests[1] and len(set(digests[0])) == 2
