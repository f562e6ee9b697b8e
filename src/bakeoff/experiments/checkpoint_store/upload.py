"""Checkpoints of a training -> copies in a store, sent by a thread beside it.

If several checkpoints come while one is being sent, only the last of them is sent. A store that fails does not disturb
the training: the checkpoint is tried again until a newer one takes its place.
"""

import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.experiments.checkpoint_store.copies import (
    NEWEST,
    File,
    copies,
    prune,
    send_file,
    send_manifest,
    sort_manifests_first,
)
from bakeoff.experiments.checkpoint_store.lease import Lease, Lost
from bakeoff.experiments.checkpoint_store.store import CheckpointStore, why
from bakeoff.foundation.files import link_or_copy
from bakeoff.foundation.progress import print_line
from bakeoff.learning.checkpoints.run_folder import CheckpointList
from bakeoff.learning.input.record_reader import BAD_RECORDS

LEAVING = "leaving"  # in the run's folder
RETRY_S = 5.0
QUIET_S = 1.0  # a shorter wait is not reported


@dataclass(frozen=True)
class Outgoing:
    """A checkpoint to send. It has links to the files, which stay when the run removes its own names."""

    name: str  # in the run's folder, such as 1-head/00000532
    step: int
    folder: Path
    files: tuple[str, ...]  # in the order of sending, the checkpoint last

    def drop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Sender:
    """Sends the newest checkpoints of a run to a store."""

    def __init__(
        self, store: CheckpointStore, lease: Lease, folder: Path, identity: Mapping[str, Any],
        lose: Callable[[Lost], object],
    ) -> None:  # fmt: skip
        """`folder` is the run's own. `lose` is called when another process has the lease."""
        self._store, self._lease, self._folder, self._identity = store, lease, folder, identity
        self._lose, self._is_failing = lose, False
        self._there: dict[str, tuple[File, ...]] = {}  # whole copies under this lease, the newest last
        self._waiting: Outgoing | None = None
        self._is_busy = self._is_over = self._is_lost = False
        self._changed, self._number = threading.Condition(), 0
        self._thread = threading.Thread(target=self._work, name="work store", daemon=True)

    def start(self) -> None:
        shutil.rmtree(self._folder / LEAVING, ignore_errors=True)  # left from a kill
        self._thread.start()

    def queue(self, stock: CheckpointList) -> None:
        """Queue the newest checkpoint for sending. Its files are linked here, in the thread that wrote them."""
        newest = stock.newest[0]
        paths = [*stock.bests[newest], newest]
        names = tuple(path.relative_to(stock.folder).as_posix() for path in paths)
        self._number += 1
        outgoing = Outgoing(names[-1], stock.step, self._folder / LEAVING / str(self._number), names)
        try:
            for path, name in zip(paths, names, strict=True):
                (outgoing.folder / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(path, outgoing.folder / name)
        except OSError as error:
            outgoing.drop()
            self.warn(error)
            return
        with self._changed:
            if self._waiting:
                self._waiting.drop()
            self._waiting = outgoing
            self._changed.notify_all()

    def warn(self, error: OSError) -> None:
        """Warn, once until the store works again, that it fails."""
        if not self._is_failing:
            message = f"takes no copies now ({why(error)}); training continues, and they are tried again"
            print(f"warning: {self._store.shown}: {message}", file=sys.stderr, flush=True)
        self._is_failing = True

    def give_up(self) -> None:
        """Send nothing more, because another process has the lease."""
        with self._changed:
            self._is_lost = True
            self._changed.notify_all()

    def end(self, limit: float) -> bool:
        """Wait at most `limit` seconds for the last copy. Return whether it is sent, or not ours to send any more."""
        with self._changed:
            self._is_over = True
            is_idle = self._waiting is None and not self._is_busy
            self._changed.notify_all()
        quiet = min(QUIET_S, limit)
        self._thread.join(quiet)
        if self._thread.is_alive() and limit and not is_idle:
            print_line(f"train: waits for the last copy in {self._store.shown}, {limit:.0f} s at most")
        self._thread.join(limit - quiet)
        is_fine = self._is_lost or (self._waiting is None and not self._is_busy)
        if is_fine:
            shutil.rmtree(self._folder / LEAVING, ignore_errors=True)
        return is_fine

    # In the thread.

    def _work(self) -> None:
        while outgoing := self._take_next():
            is_sent = self._try_to_send(outgoing)
            with self._changed:
                self._is_busy = False
                if is_sent or self._waiting or self._is_lost:
                    outgoing.drop()
                elif self._is_over:
                    self._waiting = outgoing
                    break
                else:
                    self._waiting = outgoing
                    self._changed.wait_for(lambda: self._is_over or self._is_lost, RETRY_S)
        with suppress(OSError):
            self._hand_over()

    def _take_next(self) -> Outgoing | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over or self._is_lost)
            outgoing, self._waiting = self._waiting, None
            self._is_busy = outgoing is not None and not self._is_lost
            return outgoing if self._is_busy else None

    def _try_to_send(self, outgoing: Outgoing) -> bool:
        try:
            self._lease.require()
            self._send(outgoing)
        except Lost as lost:
            self._lose(lost)
        except OSError as error:
            self.warn(error)
        else:
            if self._is_failing:
                print_line(f"train: {self._store.shown} takes copies again")
            self._is_failing = False
            return True
        return False

    def _send(self, outgoing: Outgoing) -> None:
        known = {file.name: file for files in self._there.values() for file in files}
        files = tuple(
            known.get(name) or send_file(self._store, self._lease.prefix, name, outgoing.folder / name)
            for name in outgoing.files
        )
        more = {"run": _read_text(self._folder / "run"), "step": outgoing.step, "identity": self._identity}
        more |= {BAD_RECORDS: _read_text(self._folder / BAD_RECORDS)}
        self._lease.require()
        send_manifest(self._store, self._lease.prefix, outgoing.name, files, more)
        self._there[outgoing.name] = files
        self._prune(with_earlier=len(self._there) >= NEWEST)

    def _prune(self, *, with_earlier: bool) -> None:
        self._there = dict(list(self._there.items())[-NEWEST:])
        folder, epoch = self._folder.name, self._lease.epoch
        self._lease.require()
        prune(self._store, folder, epoch, self._there, with_earlier=with_earlier)

    def _hand_over(self) -> None:
        """Remove all but the newest copies from the store, and release the lease for the next trainer."""
        if not self._is_lost:
            try:
                self._prune(with_earlier=bool(self._there))
                self._lease.release()
            except Lost as lost:
                self._lose(lost)
        if self._is_lost:
            self._lease.forget()
            self._remove_superseded()

    def _remove_superseded(self) -> None:
        """Remove the copies of a lease that was lost, once its new holder has a copy of its own."""
        if any(copy.epoch > self._lease.epoch for copy in copies(self._store, self._folder.name)):
            for name in sort_manifests_first(self._store.names(self._lease.prefix)):
                self._store.remove(name)


def _read_text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
