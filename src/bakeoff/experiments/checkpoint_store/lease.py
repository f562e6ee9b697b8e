"""A lease in a run's store, with an epoch: one trainer at a time, among machines whose clocks differ.

    leases/00000002          who trains: {"token": "5d1c…", "host": "node7", "process": 4711, "renewed": 12, …}

The next trainer creates the file of the next epoch, and only one machine can. The highest epoch holds the lease. So a
holder that was cut off sees a higher one and stops. All files that a holder writes are under its own epoch. Ages come
from the store's own clock: the time of the lease's file is compared with that of a file that is written now.
"""

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import RLock
from uuid import uuid4

from bakeoff.experiments.checkpoint_store.store import VARIABLE, CheckpointStore
from bakeoff.foundation.errors import TryAgainLater, WorkspaceError
from bakeoff.foundation.files import write_whole

LEASES = "leases"
EXPIRES = "BAKEOFF_LEASE_S"  # a variable: after how many seconds without a renewal a lease may be taken over
EXPIRES_S, RENEWALS = 60.0, 4  # the default of these seconds, and the renewals in them
COARSE_S = 1.5  # stores give times in whole seconds
CHECK_EVERY_S = 0.5


@dataclass(frozen=True)
class Claim:
    """The content of an epoch's file."""

    token: str
    host: str
    process: int
    renewed: int = 0  # how often it was renewed
    is_released: bool = False

    @classmethod
    def parse(cls, content: bytes) -> "Claim":
        """Return the claim in a file. A file that is just being written is the claim of another machine."""
        try:
            return cls(**json.loads(content))
        except (TypeError, ValueError):
            return cls("", "another machine", 0)

    @property
    def content(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}" if self.process else self.host


class Lost(Exception):
    """Another process holds the lease; the text names it."""


class Lease:
    """A lease that this process has taken on the run of a store's folder."""

    def __init__(self, store: CheckpointStore, folder: str, epoch: int, claim: Claim) -> None:
        self.epoch, self._store, self._folder, self._claim = epoch, store, folder, claim
        self._one_at_a_time = RLock()

    @property
    def prefix(self) -> str:
        """Return the folder of all files that are written under this lease. No other holder has the same."""
        return f"{self._folder}/{self.epoch:08d}-{self._claim.token[:8]}"

    def require(self) -> None:
        """Raise Lost if another process has the lease by now."""
        with self._one_at_a_time:
            highest = max(claims(self._store, self._folder), default=0)
            if highest > self.epoch:
                raise Lost(str(_read_claim(self._store, self._folder, highest) or "another machine"))
            there = _read_claim(self._store, self._folder, self.epoch)
            if there is None:  # somebody emptied the store
                with suppress(FileExistsError):
                    self._store.create(self._name, self._claim.content)
                there = _read_claim(self._store, self._folder, self.epoch)
            if there is not None and there.token != self._claim.token:
                raise Lost(str(there))

    def renew(self) -> None:
        """Note in the store that the holder is alive, or raise Lost."""
        self._write_claim(replace(self._claim, renewed=self._claim.renewed + 1))

    def release(self) -> None:
        """Let the next trainer take the lease without waiting, or raise Lost."""
        self._write_claim(replace(self._claim, is_released=True))

    def forget(self) -> None:
        """Remove the file of a lost lease, which a renewal under way may have written anew."""
        with self._one_at_a_time:
            if max(claims(self._store, self._folder), default=0) > self.epoch:
                self._store.remove(self._name)

    @property
    def _name(self) -> str:
        return name_of(self._folder, self.epoch)

    def _write_claim(self, claim: Claim) -> None:
        with self._one_at_a_time:
            if not self._claim.is_released:
                self.require()
                self._store.write(self._name, claim.content)
                self._claim = claim


def expiry() -> float:
    """Return after how many seconds without a renewal a lease may be taken over."""
    given = os.environ.get(EXPIRES)
    try:
        seconds = float(given) if given else EXPIRES_S
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86_400:
        raise WorkspaceError(f"{EXPIRES}: must be seconds, from 1 to 86400, got {given!r}")
    return seconds


def take_lease(store: CheckpointStore, folder: str, last: Path, print_line: Callable[[str], None]) -> Lease:
    """Take the lease on a run. If a dead process may hold it, wait until it expires.

    `last` is a file of this machine with the token of its last claim. The caller holds the lock of the run's folder. So
    a claim with that token is of a process that is gone.
    """
    now = _require_creating(store, folder)
    highest = max(claims(store, folder), default=0)
    if highest and (holder := _read_claim(store, folder, highest)) and not holder.is_released:
        if not last.is_file() or holder.token != last.read_text(encoding="utf-8"):
            _wait_for(store, folder, highest, holder, now, print_line)
    claim = Claim(uuid4().hex, platform.node(), os.getpid())
    write_whole(last, claim.token, lasting=True)
    try:
        store.create(name_of(folder, highest + 1), claim.content)
    except FileExistsError:
        raise _make_refusal(store, _read_claim(store, folder, highest + 1) or claim) from None
    return Lease(store, folder, highest + 1, claim)


def claims(store: CheckpointStore, folder: str) -> list[int]:
    """Return the epochs that somebody has claimed."""
    names = (name.rpartition("/")[2] for name in store.names(f"{folder}/{LEASES}"))
    return [int(name) for name in names if name.isdecimal()]


def holder_of(store: CheckpointStore, folder: str) -> str | None:
    """Return the holder of the lease on a run, if it may be alive, or None."""
    highest = max(claims(store, folder), default=0)
    holder = _read_claim(store, folder, highest) if highest else None
    if holder is None or holder.is_released:
        return None
    probe = f"{folder}/{LEASES}/probe-{uuid4().hex}"
    store.create(probe, b"one")  # by the store's own clock
    try:
        age = abs(store.modified(probe) - store.modified(name_of(folder, highest)))  # the store's clock may go back
    except FileNotFoundError:
        return None
    finally:
        store.remove(probe)
    return str(holder) if age <= expiry() + COARSE_S else None


def name_of(folder: str, epoch: int) -> str:
    return f"{folder}/{LEASES}/{epoch:08d}"


def _read_claim(store: CheckpointStore, folder: str, epoch: int) -> Claim | None:
    try:
        return Claim.parse(store.read(name_of(folder, epoch)))
    except FileNotFoundError:
        return None


def _require_creating(store: CheckpointStore, folder: str) -> float:
    """Return the store's time. Raises WorkspaceError for a store that overwrites a file that it should only create."""
    probe = f"{folder}/{LEASES}/probe-{uuid4().hex}"
    store.create(probe, b"one")
    try:
        store.create(probe, b"another")
    except FileExistsError:
        return store.modified(probe)
    finally:
        store.remove(probe)
    raise WorkspaceError(
        f"{VARIABLE}: {store.shown} wrote a file where one was (it ignores If-None-Match), so nothing keeps two "
        "machines apart; use a newer version of that store, or a folder"
    )


def _wait_for(
    store: CheckpointStore, folder: str, epoch: int, holder: Claim, now: float, print_line: Callable[[str], None]
) -> None:
    """Wait until a lease has expired or was released. Raises TryAgainLater as soon as its holder renews it."""
    try:
        longest = expiry() + COARSE_S  # also for a lease that is ahead of a clock that went back
        left = min(longest, longest - (now - store.modified(name_of(folder, epoch))))
    except FileNotFoundError:  # somebody has just taken it over
        return
    if left > 0:
        print_line(
            f"{holder} may still train this variant; waits {left:.0f} s for its lease in {store.shown} to expire"
        )
    end = time.monotonic() + left
    while time.monotonic() < end:
        time.sleep(min(CHECK_EVERY_S, max(0.0, end - time.monotonic())))
        current = _read_claim(store, folder, epoch)
        if current is None or current.is_released:
            return
        if current != holder:
            raise _make_refusal(store, current)


def _make_refusal(store: CheckpointStore, holder: Claim) -> TryAgainLater:
    return TryAgainLater(
        f"{holder} trains this variant right now, as its lease in {store.shown} says; wait for it or stop it"
    )
