"""`kill -9` at random moments, and a full disk: training ends as if nothing had happened. Minutes each."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.experiments.runs.run_status import read_status
from proofs.faults.kills import curve, killed, prepared, repeated, trained
from proofs.faults.repros import compare_repros
from support.workspace_copy import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


@pytest.mark.parametrize(("variant", "kills"), [("detection", 20), ("classification", 5), ("video", 5)])
def test_killed_at_random_moments_training_ends_in_the_same_weights(variant: str, kills: int, tmp_path: Path) -> None:
    """With averages and augmentation; dropout; several batches a step; three phases, one from the best of the other."""
    whole = prepared(tmp_path / "whole", variant)
    cut = whole.copy(tmp_path / "cut")
    expected = trained(whole)
    assert killed(cut, random.Random(variant), kills) >= kills / 2
    state = trained(cut)
    assert state["resumed_at_steps"]
    assert state["weights_sha256"] == expected["weights_sha256"]
    assert curve(cut) == curve(whole) and repeated(cut) == []


def test_a_plain_repro_that_is_killed_at_any_moment_ends_in_the_same_files(tmp_path: Path) -> None:
    """Also while DVC itself writes; no hand is needed before the next."""
    assert compare_repros(tmp_path, 20, random.Random(0))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The work in flight of a workspace to come, on a disk of 8 MB: checkpoints and samples take 4.8 of them."""
    folder = tmp_path / "cut/.bakeoff"
    folder.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_training_and_loses_nothing(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained(prepared(tmp_path / "whole", "detection"))["weights_sha256"]
    cut = prepared(tmp_path / "cut", "detection")
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file:
        file.write(bytes(6_700_000))  # leaves room for one checkpoint, not for two and the best weights
    done = cut.run("python", "-m", "bakeoff.stages.train", ok=False)
    [folder] = (small_disk / "runs").iterdir()
    assert done.returncode == 75 and done.stderr.startswith("disk: ")
    assert read_status(folder).state == "TRY_AGAIN_LATER"
    monkeypatch.setenv("BAKEOFF_START_ANYWAY", "1")
    done = cut.run("python", "-m", "bakeoff.stages.train", ok=False)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("no space left")
    printed = read_status(folder)
    assert printed.state == "FAILED" and printed.failure and printed.failure.kind == "disk"
    assert not list(folder.rglob("*.partial")) and not (cut.folder / "models/train").exists()
    ballast.unlink()
    state = trained(cut)
    assert read_status(folder).state == "SUCCEEDED"
    assert state["weights_sha256"] == expected and repeated(cut) == []
    assert state["resumed_at_steps"]


def test_an_edit_of_what_decides_nothing_goes_on_and_another_starts_over(tmp_path: Path) -> None:
    workspace: Workspace = prepared(tmp_path / "clone", "classification")
    assert killed(workspace, random.Random(1), 2) == 2
    workspace.edit("params.yaml", "checkpoint_every_steps: 5", "checkpoint_every_steps: 9")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    assert trained(workspace)["resumed_at_steps"]
    workspace.edit("params.yaml", "checkpoint_every_steps: 9", "checkpoint_every_steps: 9, fresh: true")
    workspace.run("python", "-m", "bakeoff.stages.render_config")
    again = trained(workspace)
    assert again["resumed_at_steps"] == [] and len(list((workspace.folder / ".bakeoff/runs").iterdir())) == 1
