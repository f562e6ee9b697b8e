"""`bakeoff clean` and the store: copies of finished runs are removed, those that somebody trains or may resume stay."""

import os
from pathlib import Path

import pytest

from bakeoff.experiments.checkpoint_store.lease import take_lease
from bakeoff.experiments.checkpoint_store.store import VARIABLE, FolderStore
from bakeoff.experiments.runs.run_status import State
from support.commands import run_bakeoff
from support.made_runs import NOBODY, made
from support.stored_training import RUN, save, steps, training

OTHER = "99aa000000000000"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    for name in ("store", "conf"):
        (tmp_path / name).mkdir()
    (tmp_path / "dvc.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "store")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    with training(tmp_path / "another machine") as (work, _):
        save(work, 10)
    return FolderStore(tmp_path / "store")


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    return lambda *arguments: run_bakeoff(monkeypatch, capsys, "clean", *arguments)[1].splitlines()


def test_copies_of_a_finished_run_go_and_its_lease_with_them(store: FolderStore, clean) -> None:
    made(Path(".bakeoff/runs"), RUN, State.SUCCEEDED, process=NOBODY)
    [line] = [line for line in clean() if "copies in" in line]
    assert line.startswith(RUN) and line.endswith("goes") and " kB " in line
    assert steps(store) == [10]
    clean("--yes")
    assert store.names("") == []


def test_copies_of_a_run_that_can_go_on_stay(store: FolderStore, clean) -> None:
    made(Path(".bakeoff/runs"), RUN, State.STOPPED, checkpoint=True, process=NOBODY)
    assert any(line.endswith("stays: can resume") and "copies in" in line for line in clean("--yes"))
    assert steps(store) == [10]


def test_copies_of_other_machines_go_by_their_age_alone(store: FolderStore, clean) -> None:
    assert any(line.endswith("of another machine; --older-than removes it") for line in clean("--yes"))
    assert any(line.endswith("stays: too young") for line in clean("--older-than", "2d", "--yes"))
    for name in store.names(RUN):
        os.utime(store._root / name, (1, 1))
    clean("--older-than", "2d", "--yes")
    assert store.names("") == []


def test_what_somebody_trains_stays_whatever_is_asked_for(store: FolderStore, clean, tmp_path: Path) -> None:
    take_lease(store, RUN, tmp_path / "token", print)
    made(Path(".bakeoff/runs"), RUN, State.SUCCEEDED, process=NOBODY)
    for arguments in ((), (RUN,), ("--older-than", "1m")):
        assert any("copies in" in line and line.endswith("has its lease") for line in clean(*arguments, "--yes")), (
            arguments
        )
    assert steps(store) == [10]


def test_a_lease_that_has_expired_holds_nothing(store: FolderStore, clean, tmp_path: Path) -> None:
    take_lease(store, RUN, tmp_path / "token", print)
    os.utime(store._root / RUN / "leases/00000002", (1, 1))
    made(Path(".bakeoff/runs"), RUN, State.SUCCEEDED, process=NOBODY)
    clean(RUN, "--yes")
    assert store.names("") == []
