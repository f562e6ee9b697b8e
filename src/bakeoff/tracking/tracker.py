"""One run's way to MLflow: opened by train, found again by evaluate and export, also days later.

Everything is written into the run's journal and nothing waits: a process of its own copies it to MLflow. The files
under models/ stay the record.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from bakeoff.tracking import ledger
from bakeoff.tracking.changes import changes
from bakeoff.tracking.journal import Journal
from bakeoff.tracking.params import flattened, params_of
from bakeoff.tracking.restore import restore
from bakeoff.tracking.result import result_here
from bakeoff.tracking.settings import Mlflow, Track
from bakeoff.tracking.target import Target
from bakeoff.tracking.watch import Watch

__all__ = ["Tracker", "attach", "flattened", "new_run_id", "start"]


CHANGES, CHANGES_TAG = "source/changes.diff", "bakeoff.changes_sha256"
POINT_OF_A_SWEEP = re.compile(r"(sweep-\d{8}-\d{6})-\d+")  # as `bakeoff sweep` names its experiments


def new_run_id() -> str:
    """Our own: MLflow gives another when the run arrives there, and keeps this one as the tag `bakeoff.run`."""
    return uuid4().hex


class Tracker:
    """Writes one run's journal, or nothing if the run is not tracked."""

    def __init__(
        self, run_id: str, journal: Journal | None = None, watch: Watch | None = None, wait_s: float = 0
    ) -> None:
        self.run_id = run_id
        self._journal, self._watch, self._wait_s = journal, watch, wait_s

    def params(self, tree: Mapping[str, Any]) -> None:
        """A rendered variant as params such as `lr.peak`."""
        if self._journal:
            self._journal.params(params_of(tree))

    def metrics(self, step: int, values: Mapping[str, float], *, revised: bool = False) -> None:
        """Each metric once per step; with `revised` once more, if the value is another than before."""
        if self._journal:
            self._journal.metrics(step, values, revised=revised)

    def tags(self, values: Mapping[str, str]) -> None:
        if self._journal:
            self._journal.tags(values)

    def file(self, path: Path, folder: str) -> None:
        if self._journal and path.is_file():
            self._journal.file(path, f"{folder}/{path.name}")

    def folder(self, path: Path, name: str) -> None:
        for file in sorted(path.rglob("*")) if self._journal else ():
            self.file(file, f"{name}/{file.relative_to(path).parent.as_posix()}".removesuffix("/."))

    def dataset(self, name: str, digest: str, source: str, counts: Mapping[str, Any]) -> None:
        """The records, as MLflow shows what a run was trained on."""
        if self._journal:
            self._journal.dataset(name, digest, source, counts)

    def changes(self) -> None:
        """What the code differs in from the commit that a tag names."""
        if not self._journal:
            return
        patch = changes()
        if patch:
            self._journal.text(patch, CHANGES)
        # A run that goes on may have an older patch among its artifacts; this one counts.
        self._journal.tags({CHANGES_TAG: hashlib.sha256(patch).hexdigest() if patch else "none"})

    @contextmanager
    def ending(self) -> Iterator[None]:
        """The run ends as the block does: FINISHED, KILLED by Ctrl-C, FAILED by anything else."""
        status = "FAILED"
        if self._journal:
            self._journal.state("RUNNING")
        try:
            yield
            status = "FINISHED"
            with suppress(OSError):
                ledger.note(self.run_id)
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        finally:
            if self._journal:
                self._journal.state(status)
            self.close(wait=status == "FINISHED")

    def close(self, *, wait: bool = True) -> None:
        """Wait a while for MLflow; the sender goes on without us."""
        if self._journal and self._watch:
            self._watch.end(self._wait_s if wait else 0)
            self._journal.close()
        self._journal = self._watch = None

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.close(wait=kind is None)


def start(settings: Track, name: str, tags: Mapping[str, str], *, run_id: str | None = None) -> Tracker:
    """A new run in the store that the settings name, or one that was interrupted."""
    tracker = _opened(settings, run_id or new_run_id(), name)
    tracker.tags(tags)
    return tracker


def attach(settings: Track, run_id: str) -> Tracker:
    """The run that an earlier stage opened. If it was trained elsewhere, it is told of from the files first."""
    return _opened(settings, run_id, None)


def _opened(settings: Track, run_id: str, name: str | None) -> Tracker:
    if not isinstance(settings, Mlflow):
        return Tracker(run_id)
    target = Target.of(settings)
    try:
        journal = Journal(run_id)
        target.write(journal.folder)
        if journal.is_new:
            _begin(journal, name)
    except OSError as error:
        print(f"warning: no journal of this run can be written ({error}); MLflow will not have it", file=sys.stderr)
        return Tracker(run_id)
    return Tracker(run_id, journal, Watch(journal, target, settings.system_every_s), settings.wait_s)


def _begin(journal: Journal, name: str | None) -> None:
    if name is None:
        restore(journal, result_here())
        return
    experiment = os.environ.get("DVC_EXP_NAME")
    journal.run(f"{name} ({experiment})" if experiment else name)
    if sweep := POINT_OF_A_SWEEP.fullmatch(experiment or ""):
        journal.parent(sweep[1])
