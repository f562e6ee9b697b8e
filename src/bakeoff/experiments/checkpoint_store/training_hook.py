"""Work in flight in a store: a training takes the lease on its run there, fetches the newest copy, leaves new ones.

Training never waits for the store. A holder that was cut off, and has lost its lease, stops after its step.
"""

import errno
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.config.track_settings import Track
from bakeoff.experiments.checkpoint_store.copies import copies, fetch, prune
from bakeoff.experiments.checkpoint_store.lease import RENEWALS, Lease, Lost, expiry, take_lease
from bakeoff.experiments.checkpoint_store.store import VARIABLE, CheckpointStore, open_store, why
from bakeoff.experiments.checkpoint_store.upload import Sender
from bakeoff.foundation.errors import (
    TRY_AGAIN_LATER,
    BakeoffError,
    Canceled,
    TryAgainLater,
    WorkspaceError,
    is_disk_full,
)
from bakeoff.foundation.progress import print_line
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.learning.checkpoints.run_folder import CheckpointList
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.stopping import Stop
from bakeoff.tracking.journal.checkpoint_copies import fetch_newest, list_newer, put_in_place
from bakeoff.tracking.tracker import expect_earlier_points

ARRIVING, LAST_TOKEN = "arriving", "lease"  # names in the run's folder
END_S, TAKEN_AWAY_S = 120.0, 20.0  # the longest wait for the last copy: at the end, and if the machine is taken away


class NoCheckpointStore(Callback):
    """The store of a training without one: it does nothing."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    def has_lost(self) -> bool:
        return False

    def leave_if_taken_away(self, step: int) -> None:
        self._stop.leave_if_taken_away(step)


class WorkStore(Callback):
    """The store of a training: renews its lease, and copies its checkpoints."""

    def __init__(
        self, store: CheckpointStore, lease: Lease, folder: Path, stop: Stop, identity: Mapping[str, Any]
    ) -> None:
        """`folder` is the run's own, whose lock this process holds."""
        self._store, self._lease, self._folder, self._stop = store, lease, folder, stop
        self._brought: str | None = None  # the checkpoint that came from the store
        self._new_holder: str | None = None
        self._sender = Sender(store, lease, folder, identity, self._lose)
        self._is_over, self._losing = threading.Event(), threading.Lock()
        self._keeper = threading.Thread(target=self._renew, name="lease", daemon=True)

    def has_lost(self) -> bool:
        """Return whether another machine trains this variant by now."""
        return self._new_holder is not None

    def leave_if_taken_away(self, step: int) -> None:
        """Raise Canceled after a step if another machine trains the variant now, or if this machine is taken away."""
        if self.has_lost():
            raise self._make_canceled(f"after step {step:,}")
        self._stop.leave_if_taken_away(step)

    def on_checkpoint(self, stock: CheckpointList) -> None:
        """Have a checkpoint copied."""
        name = stock.newest[0].relative_to(stock.folder).as_posix()
        if name != self._brought and not self.has_lost():
            self._sender.queue(stock)

    def bring(self, track: Track) -> None:
        """Put the newest whole copy into the run's folder, unless a checkpoint that is as new is there."""
        arriving = self._folder / ARRIVING
        newer = list_newer(copies(self._store, self._folder.name), self._folder)
        if not newer:
            return
        try:
            copy, (files, run_id) = fetch_newest(newer, partial(fetch, self._store), arriving)
        except Damaged as error:
            print(f"warning: {error}; there is no copy before it", file=sys.stderr)
            return
        put_in_place(files, arriving, self._folder, run_id)
        shutil.rmtree(arriving)
        expect_earlier_points(run_id, track)
        self._brought = copy.name
        print_line(f"train: the checkpoint of step {copy.step:,} comes from {self._store.shown}")

    @contextmanager
    def copying(self) -> Iterator[None]:
        """Copy checkpoints that are reported in the block. At its end, wait for the last copy and release the lease."""
        self._sender.start()
        self._keeper.start()
        limit = TAKEN_AWAY_S
        try:
            yield
            limit = END_S
        except Canceled as canceled:
            if self.has_lost() and canceled.exit_code != TRY_AGAIN_LATER:
                raise self._make_canceled("before the first step") from None
            raise
        except KeyboardInterrupt:
            limit = 0.0
            raise
        finally:
            if not self._sender.end(limit):
                message = f"has no copy of the last checkpoint, which is in {self._folder.as_posix()}"
                print(f"warning: {self._store.shown}: {message}", file=sys.stderr)
            self._is_over.set()

    def _renew(self) -> None:
        while not self._is_over.wait(expiry() / RENEWALS) and not self.has_lost():
            try:
                self._lease.renew()
            except Lost as lost:
                self._lose(lost)
            except OSError as error:
                self._sender.warn(error)

    def _make_canceled(self, when: str) -> Canceled:
        message = f"{self._new_holder} trains this variant now, as its lease in {self._store.shown} says"
        return Canceled(f"stopped {when}: {message}", TRY_AGAIN_LATER)

    def _lose(self, lost: Lost) -> None:
        with self._losing:
            if self._new_holder is None:
                self._new_holder = str(lost)
                message = f"{lost} trains this variant now, as its lease in {self._store.shown} says"
                print(f"{message}; training here ends after this step", file=sys.stderr, flush=True)
                self._stop.by = self._stop.by or f"the lease, which {lost} has"
        self._sender.give_up()


@contextmanager
def keep_in_store(
    folder: Path, stop: Stop, identity: Mapping[str, Any], track: Track, *, fresh: bool
) -> Iterator[WorkStore | NoCheckpointStore]:
    """Take the lease on a run in the store that BAKEOFF_WORK_STORE names, fetch its newest copy, copy new ones.

    `folder` is the run's own, whose lock this process holds. Without a store nothing happens.
    """
    if not (named := os.environ.get(VARIABLE)):
        yield NoCheckpointStore(stop)
        return
    store = open_store(named)
    try:
        lease = take_lease(store, folder.name, folder / LAST_TOKEN, lambda line: print_line(f"train: {line}"))
        kept = WorkStore(store, lease, folder, stop, identity)
        if fresh:
            prune(store, folder.name, lease.epoch, {}, with_earlier=True)
        else:
            kept.bring(track)
    except OSError as error:
        if str(error.filename or "").startswith(str(folder)):
            raise
        raise _refusal(store, error) from None
    with kept.copying():
        yield kept


def _refusal(store: CheckpointStore, error: OSError) -> BakeoffError:
    """Return the error for an unusable store. Without it nobody knows who trains, so training cannot start."""
    without = f"or unset {VARIABLE} to train without it"
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return WorkspaceError(f"{store.shown}: cannot be written ({why(error)}); give this user the right, {without}")
    if isinstance(error, FileNotFoundError):
        return WorkspaceError(f"{store.shown}: is not there ({why(error)}); make it or mount it, {without}")
    if is_disk_full(error):
        return TryAgainLater(f"{store.shown}: is full ({why(error)}); free some space there, {without}")
    return TryAgainLater(f"{store.shown}: cannot be used now ({why(error)}); try again later, {without}")
