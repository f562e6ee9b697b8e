"""A store of work in flight -> size and trainer of each run in it, and the removal of runs without a trainer."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.experiments.checkpoint_store.copies import prune
from bakeoff.experiments.checkpoint_store.lease import holder_of, name_of, take_lease
from bakeoff.experiments.checkpoint_store.store import CheckpointStore
from bakeoff.experiments.runs.cleanup import Leftover
from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import BakeoffError

MANIFEST = ".json"
NOT_KNOWN = "of another machine; --older-than removes it"


@dataclass(frozen=True)
class RunCopies(Leftover):
    """The copies of one run."""

    store: CheckpointStore | None = None

    def remove(self) -> bool:
        """Remove the copies, and return whether nobody trains the run. The lease is taken first, so nobody starts."""
        assert self.store is not None
        with TemporaryDirectory() as folder:
            try:
                lease = take_lease(self.store, self.path.name, Path(folder) / "lease", lambda line: None)
            except BakeoffError:
                return False
            prune(self.store, self.path.name, lease.epoch, {}, with_earlier=True)
            self.store.remove(name_of(self.path.name, lease.epoch))
        return True


def stored_runs(
    store: CheckpointStore, runs: Sequence[KnownRun], now: float, older_than: float = 0.0
) -> list[RunCopies]:
    """Return the runs whose copies a store has. `runs` are those that this machine knows."""
    known = {run.fingerprint: run for run in runs}
    folders = sorted({name.partition("/")[0] for name in store.names("") if "/" in name})
    return [_read_run(store, folder, known.get(folder), now, older_than) for folder in folders]


def these_stored(store: CheckpointStore, chosen: Sequence[KnownRun], now: float) -> list[RunCopies]:
    """Return the copies of these runs, whatever their age. Only runs that somebody trains stay."""
    stored = stored_runs(store, (), now)
    names = {run.fingerprint for run in chosen}
    return [replace(one, stays=_find_trainer(store, one.path.name)) for one in stored if one.path.name in names]


def _read_run(store: CheckpointStore, folder: str, run: KnownRun | None, now: float, older_than: float) -> RunCopies:
    written, size = 0.0, 0
    for name in store.names(folder):
        with suppress(FileNotFoundError):  # superseded meanwhile
            if name.endswith(MANIFEST):
                size += sum(int(file["bytes"]) for file in json.loads(store.read(name))["files"])
                written = max(written, store.modified(name))
    stored = RunCopies(Path(folder), f"copies in {store.shown}", size, written or now, store=store)
    stays = _find_trainer(store, folder)
    if stays is None and older_than and now - stored.updated < older_than:
        stays = "too young"
    if stays is None and run is None and not older_than:
        stays = NOT_KNOWN
    if stays is None and run is not None and run.state != State.SUCCEEDED:
        stays = "is under way" if run.state.is_live else "can resume"
    return replace(stored, stays=stays)


def _find_trainer(store: CheckpointStore, folder: str) -> str | None:
    holder = holder_of(store, folder)
    return f"{holder} has its lease" if holder else None
