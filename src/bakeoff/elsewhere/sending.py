"""Checkpoints of a training -> copies in a store, by a thread beside it.

Of several checkpoints that come due while one is being sent, the last is sent. A store that fails costs copies, and
nothing here: the checkpoint is tried again until a newer one takes its place.
"""

import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.elsewhere.copies import NEWEST, File, copies, prune, send_file, send_manifest
from bakeoff.elsewhere.lease import Lease, Lost
from bakeoff.elsewhere.store import Store, why
from bakeoff.input.store import BAD_RECORDS
from bakeoff.progress import say
from bakeoff.tracking.journal_files import link
from bakeoff.training.work import Stock

LEAVING = "leaving"  # in the run's folder
RETRY_S = 5.0
QUIET_S = 1.0  # a shorter wait is not said


class Trouble:
    """Says once that a store fails, and once that it is back."""

    def __init__(self, shown: str) -> None:
        self._shown, self._is_there = shown, False

    def begins(self, error: OSError) -> None:
        if not self._is_there:
            said = f"{self._shown}: takes no copies now ({why(error)}); training goes on, and they are tried again"
            print(f"warning: {said}", file=sys.stderr, flush=True)
        self._is_there = True

    def is_over(self) -> None:
        if self._is_there:
            say(f"train: {self._shown} takes copies again")
        self._is_there = False


@dataclass(frozen=True)
class Told:
    """A checkpoint that is about to be sent: second names of its files, which stay when the run removes its own."""

    name: str  # in the run's folder, such as 1-head/00000532
    step: int
    folder: Path
    files: tuple[str, ...]  # what it goes with first

    def drop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Sender:
    def __init__(
        self, store: Store, lease: Lease, folder: Path, identity: Mapping[str, Any], trouble: Trouble,
        lose: Callable[[Lost], object],
    ) -> None:  # fmt: skip
        """`folder` is the run's own; `lose` is told that the lease is another's."""
        self._store, self._lease, self._folder, self._identity = store, lease, folder, identity
        self._trouble, self._lose = trouble, lose
        self._there: dict[str, tuple[File, ...]] = {}  # whole copies under this lease, the newest last
        self._waiting: Told | None = None
        self._is_busy = self._is_over = self._is_lost = False
        self._changed, self._heard = threading.Condition(), 0
        self._thread = threading.Thread(target=self._work, name="work store", daemon=True)

    def start(self) -> None:
        shutil.rmtree(self._folder / LEAVING, ignore_errors=True)  # what a kill left
        self._thread.start()

    def hear(self, stock: Stock) -> None:
        """Have the newest checkpoint sent. Its files get second names, in the thread that wrote them."""
        newest = stock.newest[0]
        paths = [*stock.bests[newest], newest]
        names = tuple(path.relative_to(stock.folder).as_posix() for path in paths)
        self._heard += 1
        told = Told(names[-1], stock.step, self._folder / LEAVING / str(self._heard), names)
        try:
            for path, name in zip(paths, names, strict=True):
                (told.folder / name).parent.mkdir(parents=True, exist_ok=True)
                link(path, told.folder / name)
        except OSError as error:
            told.drop()
            self._trouble.begins(error)
            return
        with self._changed:
            if self._waiting:
                self._waiting.drop()
            self._waiting = told
            self._changed.notify_all()

    def give_up(self) -> None:
        """Send nothing more, for the lease is another's."""
        with self._changed:
            self._is_lost = True
            self._changed.notify_all()

    def end(self, limit: float) -> bool:
        """Wait so many seconds for what is not sent yet; return whether all is, or is none of ours any more."""
        with self._changed:
            self._is_over = True
            is_idle = self._waiting is None and not self._is_busy
            self._changed.notify_all()
        quiet = min(QUIET_S, limit)
        self._thread.join(quiet)
        if self._thread.is_alive() and limit and not is_idle:
            say(f"train: waits for the last copy in {self._store.shown}, {limit:.0f} s at most")
        self._thread.join(limit - quiet)
        is_fine = self._is_lost or (self._waiting is None and not self._is_busy)
        if is_fine:
            shutil.rmtree(self._folder / LEAVING, ignore_errors=True)
        return is_fine

    # In the thread.

    def _work(self) -> None:
        while told := self._next():
            is_sent = self._is_sent(told)
            with self._changed:
                self._is_busy = False
                if is_sent or self._waiting or self._is_lost:
                    told.drop()
                elif self._is_over:
                    self._waiting = told
                    break
                else:
                    self._waiting = told
                    self._changed.wait_for(lambda: self._is_over or self._is_lost, RETRY_S)
        with suppress(OSError):
            self._leave()

    def _next(self) -> Told | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over or self._is_lost)
            told, self._waiting = self._waiting, None
            self._is_busy = told is not None and not self._is_lost
            return told if self._is_busy else None

    def _is_sent(self, told: Told) -> bool:
        try:
            self._lease.require()
            self._send(told)
        except Lost as lost:
            self._lose(lost)
        except OSError as error:
            self._trouble.begins(error)
        else:
            self._trouble.is_over()
            return True
        return False

    def _send(self, told: Told) -> None:
        known = {file.name: file for files in self._there.values() for file in files}
        files = tuple(
            known.get(name) or send_file(self._store, self._lease.prefix, name, told.folder / name)
            for name in told.files
        )
        more = {"run": _text(self._folder / "run"), "step": told.step, "identity": self._identity}
        more |= {BAD_RECORDS: _text(self._folder / BAD_RECORDS)}
        self._lease.require()
        send_manifest(self._store, self._lease.prefix, told.name, files, more)
        self._there[told.name] = files
        self._prune(with_earlier=len(self._there) >= NEWEST)

    def _prune(self, *, with_earlier: bool) -> None:
        self._there = dict(list(self._there.items())[-NEWEST:])
        folder, epoch = self._folder.name, self._lease.epoch
        self._lease.require()
        prune(self._store, folder, epoch, self._there, with_earlier=with_earlier)

    def _leave(self) -> None:
        """Leave in the store what the next one needs, and no more."""
        if not self._is_lost:
            try:
                self._prune(with_earlier=bool(self._there))
                self._lease.release()
            except Lost as lost:
                self._lose(lost)
        if self._is_lost:
            self._lease.forget()
            self._clear_what_nobody_needs()

    def _clear_what_nobody_needs(self) -> None:
        """Remove what was written under a lease that was lost, once its new holder has a copy of its own."""
        if any(copy.epoch > self._lease.epoch for copy in copies(self._store, self._folder.name)):
            for name in sorted(self._store.names(self._lease.prefix), key=lambda name: not name.endswith(".json")):
                self._store.remove(name)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
