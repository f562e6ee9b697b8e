"""One trainer at a time, also if the clocks of machines differ."""

import os
import threading
import time
from pathlib import Path

import pytest

from bakeoff.experiments.checkpoint_store.lease import EXPIRES, Claim, Lease, Lost, claims, holder_of, take_lease
from bakeoff.experiments.checkpoint_store.store import FolderStore
from bakeoff.foundation.errors import TryAgainLater, WorkspaceError
from support.messages import missing_in

RUN = "5d1c"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    (tmp_path / "store").mkdir()
    return FolderStore(tmp_path / "store")


def take(store: FolderStore, machine: str, lines: list[str] | None = None) -> Lease:
    folder = Path(store.shown).parent / machine
    folder.mkdir(exist_ok=True)
    return take_lease(store, RUN, folder / "lease", (lines if lines is not None else []).append)


def expire(store: FolderStore, epoch: int) -> None:
    """Make the file of a lease old, as if nobody had renewed it."""
    os.utime(Path(store.shown, RUN, "leases", f"{epoch:08d}"), (1, 1))


def test_of_many_that_begin_at_once_one_trains(store: FolderStore) -> None:
    taken, refused = [], []

    def begin(number: int) -> None:
        try:
            taken.append(take(store, f"machine{number}"))
        except TryAgainLater as error:
            refused.append(str(error))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    holder = take(store, "first")
    holder.release()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for lease in taken:
            lease.renew()  # those who wait for it to expire see that its holder is alive
        time.sleep(0.1)
    assert [lease.epoch for lease in taken] == [2] and len(refused) == 7
    assert all(missing_in(line, "trains this variant", store.shown) == [] for line in refused)


def test_a_lease_that_was_given_back_is_taken_at_once(store: FolderStore) -> None:
    take(store, "one").release()
    lines: list[str] = []
    assert take(store, "other", lines).epoch == 2 and lines == []


def test_a_holder_that_shows_itself_keeps_the_lease(store: FolderStore) -> None:
    holder = take(store, "one")
    threading.Timer(0.3, holder.renew).start()
    with pytest.raises(TryAgainLater, match=r"process \d+ on .* trains this variant"):
        take(store, "other")
    holder.require()


def test_a_holder_that_was_cut_off_finds_its_lease_gone(store: FolderStore) -> None:
    holder = take(store, "one")
    expire(store, 1)
    new = take(store, "other")
    before = Path(store.shown, RUN, "leases/00000001").read_bytes()
    for attempt in (holder.require, holder.renew, holder.release):
        with pytest.raises(Lost, match=r"process \d+ on"):
            attempt()
    assert Path(store.shown, RUN, "leases/00000001").read_bytes() == before
    assert new.prefix != holder.prefix
    holder.forget()
    new.forget()
    assert claims(store, RUN) == [2]
    new.renew()


def test_a_dead_holder_is_waited_for_until_its_lease_has_expired(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.experiments.checkpoint_store.lease.COARSE_S", 0.0)
    monkeypatch.setenv(EXPIRES, "1")
    take(store, "one")
    lines: list[str] = []
    assert take(store, "other", lines).epoch == 2
    assert len(lines) == 1 and missing_in(lines[0], "may still train", "waits 1 s", store.shown) == []


@pytest.mark.parametrize(("hours", "waits"), [(-1, []), (1, ["waits 1 s"])])
def test_a_lease_of_the_dead_is_not_waited_for_longer_after_the_store_s_clock_changed(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch, hours: int, waits: list[str]
) -> None:
    monkeypatch.setattr("bakeoff.experiments.checkpoint_store.lease.COARSE_S", 0.0)
    monkeypatch.setenv(EXPIRES, "1")
    take(store, "one")
    stamp = time.time() + 3600 * hours
    os.utime(Path(store.shown, RUN, "leases/00000001"), (stamp, stamp))
    assert holder_of(store, RUN) is None  # so `bakeoff clean` removes its copies
    lines: list[str] = []
    assert take(store, "other", lines).epoch == 2
    assert len(lines) == len(waits) and missing_in("".join(lines), *waits) == []


def test_ages_are_those_of_the_store_s_clock(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is an hour off neither takes a lease that is alive nor waits for one that is not."""
    for wrong in (-3600.0, 3600.0):
        monkeypatch.setattr(time, "time", lambda wrong=wrong: 1_763_740_000 + wrong)
        holder = take(store, "one")
        timer = threading.Timer(0.2, holder.renew)
        timer.start()
        with pytest.raises(TryAgainLater):
            take(store, "other")
        timer.join()
        expire(store, holder.epoch)
        lines: list[str] = []
        take(store, "other", lines).release()
        assert lines == []


def test_a_process_that_was_killed_here_is_not_waited_for(store: FolderStore) -> None:
    take(store, "one")
    lines: list[str] = []
    assert take(store, "one", lines).epoch == 2 and lines == []


def test_a_lease_comes_back_into_a_store_that_somebody_emptied(store: FolderStore) -> None:
    holder = take(store, "one")
    store.remove(f"{RUN}/leases/00000001")
    holder.renew()
    assert claims(store, RUN) == [1]


def test_the_same_epoch_of_another_is_another_s(store: FolderStore) -> None:
    holder = take(store, "one")
    store.remove(f"{RUN}/leases/00000001")
    take(store, "other")
    with pytest.raises(Lost):
        holder.renew()


def test_a_file_that_is_just_being_written_is_held(store: FolderStore) -> None:
    store.write(f"{RUN}/leases/00000001", b"")
    threading.Timer(0.3, lambda: store.write(f"{RUN}/leases/00000001", Claim("5d1c", "another", 7).content)).start()
    lines: list[str] = []
    with pytest.raises(TryAgainLater, match="trains this variant right now"):
        take(store, "one", lines)
    assert len(lines) == 1 and missing_in(lines[0], "another machine", "may still train") == []


def test_a_store_that_writes_over_what_is_there_is_refused(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FolderStore, "create", FolderStore.write)
    with pytest.raises(WorkspaceError, match=r"wrote a file\b.*\btwo machines\b"):
        take(store, "one")
    assert store.names("") == []


@pytest.mark.parametrize("given", ["soon", "0", "1e9"])
def test_a_time_that_is_none_is_refused(store: FolderStore, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    take(store, "one")
    monkeypatch.setenv(EXPIRES, given)
    with pytest.raises(WorkspaceError, match=rf"BAKEOFF_LEASE_S: .*\b1 to 86400\b.*'{given}'"):
        take(store, "other")
