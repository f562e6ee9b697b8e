"""A run that was killed is KILLED in MLflow once somebody lists the runs, until it resumes."""

import errno
import os
from pathlib import Path

import pytest

from bakeoff.tracking.journal import journal
from bakeoff.tracking.journal.journal import Journal, entries
from bakeoff.tracking.restored_results import reconcile
from bakeoff.tracking.store.target import SyncProgress, Target
from bakeoff.tracking.sync import sync_status
from bakeoff.tracking.sync.sync_status import report_interrupted
from support.commands import run_bakeoff

TARGET = Target("http://somewhere", "bakeoff")


@pytest.fixture(autouse=True)
def started(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The senders that were started, by their stores."""
    keys: list[str] = []
    monkeypatch.setattr(sync_status, "start_sender", keys.append)
    return keys


def training() -> Journal:
    """One that is under way. Closed without a last word it is as a kill leaves it: the system lets go of its locks."""
    journal = Journal("0f")
    TARGET.write(journal.folder)
    journal.state("RUNNING")
    journal.tags({"bakeoff.state": "RUNNING"})
    return journal


def read_reported(kind: str) -> list:
    chosen = [entry for entry, _ in entries(Path(".bakeoff/journal/0f")) if entry and entry.kind == kind]
    if kind == "state":
        return [(entry.state, entry.ended) for entry in chosen]
    return [entry.values["bakeoff.state"] for entry in chosen]


@pytest.mark.parametrize("read_lists", [report_interrupted, reconcile])
def test_a_killed_run_is_reported_once_and_runs_again_when_it_resumes(read_lists: object, started: list[str]) -> None:
    training().close()
    for _ in range(2):
        read_lists()  # type: ignore[operator]
    assert read_reported("state") == [("RUNNING", True), ("KILLED", False)] and read_reported("tags") == [
        "RUNNING",
        "INTERRUPTED",
    ]
    assert started == [TARGET.key]
    training().close()
    assert read_reported("state")[-1] == ("RUNNING", True) and read_reported("tags")[-1] == "RUNNING"
    read_lists()  # type: ignore[operator]
    assert read_reported("state")[-1] == ("KILLED", False) and read_reported("tags")[-1] == "INTERRUPTED"


def test_a_run_that_is_under_way_or_has_ended_is_left_alone(started: list[str]) -> None:
    journal = training()
    assert report_interrupted() == []
    journal.state("FAILED")
    journal.close()
    assert report_interrupted() == [] == started and read_reported("state") == [("RUNNING", True), ("FAILED", True)]


def test_a_run_of_another_machine_is_left_alone() -> None:
    training().close()
    Path(".bakeoff/journal/0f/running").write_text("another\n")
    assert report_interrupted() == []


def test_without_the_right_to_write_nothing_is_reported_and_lists_work(monkeypatch: pytest.MonkeyPatch) -> None:
    training().close()
    for error in (errno.EACCES, errno.EROFS):

        def refuse(run_id: str, error: int = error) -> Journal:
            raise OSError(error, os.strerror(error))

        monkeypatch.setattr(journal, "Journal", refuse)
        assert not report_interrupted() and read_reported("state") == [("RUNNING", True)]
    monkeypatch.setattr(journal, "Journal", lambda run_id: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report_interrupted()


def test_a_run_that_the_store_did_not_confirm_is_not_counted_as_sent_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of it was sent before; now the server is gone, and nobody knows what it still has."""
    training().close()
    folder = Path(".bakeoff/journal/0f")
    SyncProgress().move(folder / "journal.jsonl", (folder / "journal.jsonl").stat().st_size).write(folder, TARGET)
    (Path("dvc.yaml").touch(), Path("conf").mkdir())
    monkeypatch.setattr(sync_status, "start_sender", lambda key: None)
    (folder / "running").unlink()
    output = run_bakeoff(monkeypatch, capsys, "track", "status")
    assert output == (0, "1 run, 1 sent whole\n", "")
    code, out, _ = run_bakeoff(monkeypatch, capsys, "track", "sync")
    first, last = out.splitlines()
    assert code == 1 and first.startswith("0f: not sent to http://somewhere: ") and last == "1 run, 0 sent whole"


def test_a_run_that_resumes_at_that_very_moment_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = training()
    monkeypatch.setattr(sync_status, "is_being_written", lambda folder: False)  # as it was a moment ago
    assert report_interrupted() == [] and read_reported("state") == [("RUNNING", True)]
    journal.close()
