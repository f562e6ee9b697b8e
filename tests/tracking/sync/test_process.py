"""When a sender sends, waits and ends."""

import os
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.journal.journal_folder import FILE
from bakeoff.tracking.store.target import SyncProgress, Target, list_unsent, place_in
from bakeoff.tracking.sync import process
from bakeoff.tracking.sync.process import is_running, leave_request, sender_lock

TARGET = Target("http://somewhere", "bakeoff")


class Courier:
    """Takes what it is given, but for the first `failures` times."""

    failures = 0
    sent: list[list[str]] = []  # noqa: RUF012

    def __init__(self, target: Target) -> None:
        self.target, self.deleted = target, set()

    def send(self, folders: list[Path]) -> bool:
        type(self).sent.append([folder.name for folder in folders])
        if type(self).failures:
            type(self).failures -= 1
            return False
        for folder in folders:
            SyncProgress(offset=(folder / FILE).stat().st_size).write(folder, self.target)
        return True


@pytest.fixture(autouse=True)
def store(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> type[Courier]:
    module = ModuleType("bakeoff.tracking.sync.send_all")
    Courier.failures, Courier.sent = 0, []
    module.Courier = Courier  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bakeoff.tracking.sync.send_all", module)
    for name, seconds in (("POLL_S", 0.01), ("LINGER_S", 0.02), ("LONGEST_PAUSE_S", 0.01), ("PATIENCE_S", 0.1)):
        monkeypatch.setattr(process, name, seconds)
    monkeypatch.setattr(sys, "argv", ["sender", TARGET.key])
    return Courier


def journal_of(run_id: str, target: Target = TARGET) -> Journal:
    journal = Journal(run_id)
    target.write(journal.folder)
    journal.run(run_id)
    return journal


def test_a_sender_sends_what_its_store_lacks_and_ends(store: type[Courier]) -> None:
    for run_id, target in (("a", TARGET), ("b", TARGET), ("c", Target("http://elsewhere", "bakeoff"))):
        journal_of(run_id, target).close()
    process.main()
    assert store.sent[0] == ["a", "b"] and list_unsent(TARGET) == []
    assert not is_running(TARGET.key)


def test_a_second_sender_leaves_the_work_to_the_first(store: type[Courier]) -> None:
    journal_of("a").close()
    with sender_lock(TARGET.key):
        assert is_running(TARGET.key)
        process.main()
    assert store.sent == []


def test_a_sender_tries_again(store: type[Courier], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PATIENCE_S", 600.0)
    journal_of("a").close()
    store.failures = 3
    process.main()
    assert store.sent[:4] == [["a"]] * 4 and list_unsent(TARGET) == []


def test_a_sender_gives_up_at_a_store_that_takes_nothing(store: type[Courier]) -> None:
    journal_of("a").close()
    store.failures = 1_000_000
    process.main()
    assert [folder.name for folder in list_unsent(TARGET)] == ["a"]


def test_a_sender_makes_room_for_whoever_asks(store: type[Courier]) -> None:
    journal = journal_of("a")  # is being written, which would keep it
    leave_request(TARGET.key).touch()
    process.main()
    journal.close()
    assert store.sent == []


@pytest.mark.parametrize("hours", [-10_000, -1, 1])
def test_a_request_that_a_killed_process_left_behind_keeps_no_sender_away(store: type[Courier], hours: int) -> None:
    """Also one that is ahead of a clock that went back."""
    journal_of("a").close()
    leave_request(TARGET.key).touch()
    os.utime(leave_request(TARGET.key), (stamp := time.time() + 3600 * hours, stamp))
    process.main()
    assert list_unsent(TARGET) == []


def test_a_sender_whose_lock_was_removed_leaves_the_place(
    store: type[Courier], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all of .bakeoff is gone, the next writer starts another sender, and two would send the same points."""
    journal = journal_of("a")
    send = Courier.send

    def remove(self: Courier, folders: list[Path]) -> bool:
        lock = Path(sender_lock(TARGET.key).lock_file)
        lock.unlink(missing_ok=True)
        lock.touch()  # as another process does
        return send(self, folders)

    monkeypatch.setattr(Courier, "send", remove)
    process.main()  # comes to its end, though somebody writes
    assert len(store.sent) == 1
    journal.close()


def test_a_sender_stays_while_somebody_writes(store: type[Courier], monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journal_of("a")
    waits = []

    def wait(seconds: float, key: str) -> None:
        waits.append(seconds)
        if len(waits) == 20:
            journal.metrics(1, {"loss": 0.5})
            journal.close()

    monkeypatch.setattr(process, "wait", wait)
    process.main()
    assert len(waits) >= 20 and place_in(journal.folder, TARGET).offset == (journal.folder / FILE).stat().st_size
