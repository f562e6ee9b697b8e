"""MLflow absent, killed or frozen, senders or training killed: MLflow ends up with the same run. Minutes each."""

import sys
from pathlib import Path

import pytest

from proofs.faults.full_disks import may_mount, memory_disk
from proofs.faults.tracking import FAULTS, FULL_DISKS, MOST_WAITED_S, ROOM_OF_A_SERVER, eight, meet, no_fault
from proofs.faults.tracking_real import real
from proofs.faults.tracking_store import differences

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The store's view of a run that met no fault."""
    [run], _ = meet("no_fault", no_fault, tmp_path_factory.mktemp("tracking").resolve())
    assert run["status"] == "FINISHED" and len(run["history"]["train/loss"]) == 400
    return run


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_mlflow_has_the_same_run_whatever_fails_and_training_does_not_wait(
    fault: str, expected: dict, tmp_path: Path
) -> None:
    [run], waits = meet(fault, FAULTS[fault], tmp_path.resolve())
    assert differences(expected, run) == []
    late = [wait for wait in waits if wait > MOST_WAITED_S]
    assert len(late) <= len(waits) / 100, late  # a machine that is busy keeps a process waiting for its own reasons


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk in memory")
@pytest.mark.parametrize("fault", sorted(FULL_DISKS))
def test_mlflow_has_the_same_run_although_its_disk_was_full(fault: str, expected: dict, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    if not may_mount(folder):
        pytest.skip("needs the right to mount a disk")
    with memory_disk(folder / f"{fault}-server", ROOM_OF_A_SERVER):
        [run], waits = meet(fault, FULL_DISKS[fault], folder)
    assert differences(expected, run) == []
    assert sum(wait > MOST_WAITED_S for wait in waits) <= len(waits) / 100


def test_eight_runs_that_begin_at_once_on_a_store_that_does_not_exist_are_complete(tmp_path: Path) -> None:
    assert eight(tmp_path.resolve() / "eight") == []


def test_a_training_that_is_killed_and_its_server_too_is_in_mlflow_as_one_that_was_not(tmp_path: Path) -> None:
    assert real(tmp_path.resolve() / "real") == []
