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

from bakeoff.progress import say
from bakeoff.run.options import Mlflow, Track
from bakeoff.tracking import ledger
from bakeoff.tracking.changes import changes
from bakeoff.tracking.journal import Journal
from bakeoff.tracking.params import flattened, params_of
from bakeoff.tracking.restore import restore
from bakeoff.tracking.result import result_here
from bakeoff.tracking.target import Target
from bakeoff.tracking.trained_models import SAVED_MODEL, SUFFIX, exported_model, kept_weights
from bakeoff.tracking.watch import Watch

__all__ = ["Tracker", "attach", "flattened", "new_run_id", "start"]


UNUSED = Mlflow()  # by a run that is not tracked
CHANGES, CHANGES_TAG = "source/changes.diff", "bakeoff.changes_sha256"
POINT_OF_A_SWEEP = re.compile(r"(sweep-\d{8}-\d{6})-\d+")  # as `bakeoff sweep` names its experiments


def new_run_id() -> str:
    """Our own: MLflow gives another when the run arrives there, and keeps this one as the tag `bakeoff.run`."""
    return uuid4().hex


class Tracker:
    """Writes one run's journal, or nothing if the run is not tracked."""

    def __init__(
        self, run_id: str, settings: Mlflow = UNUSED, journal: Journal | None = None, watch: Watch | None = None
    ) -> None:
        self.run_id = run_id
        self._settings, self._journal, self._watch = settings, journal, watch

    def params(self, tree: Mapping[str, Any]) -> None:
        """A rendered variant as params such as `lr.peak`."""
        if self._journal:
            self._journal.params(params_of(tree))

    def metrics(
        self, step: int, values: Mapping[str, float], *, revised: bool = False, weights: str | None = None
    ) -> None:
        """Each metric once per step; with `revised` once more, if the value is another than before.

        What was measured of the `best` or the `final` weights is also said of the models that have them.
        """
        if self._journal:
            self._journal.metrics(step, values, revised=revised, weights=weights)

    def tags(self, values: Mapping[str, str]) -> None:
        if self._journal:
            self._journal.tags(values)

    def file(self, path: Path, folder: str) -> None:
        if self._journal and path.is_file():
            self._journal.file(path, f"{folder}/{path.name}")

    def folder(self, path: Path, name: str) -> None:
        """All but weights, which are models."""
        for file in sorted(path.rglob("*")) if self._journal else ():
            if not file.name.endswith(SUFFIX):
                self.file(file, f"{name}/{file.relative_to(path).parent.as_posix()}".removesuffix("/."))

    def weights(self, trained: Path, state: Mapping[str, Any]) -> None:
        """The newest and the best that a training kept."""
        if self._journal:
            for model in kept_weights(trained, state, self._settings):
                self._tell_model(model)

    def exported(self, folder: Path, state: Mapping[str, Any], *, weights: str, task: str, multi_label: bool) -> None:
        """The SavedModel in a folder; whoever has MLflow loads it as a predictor."""
        if self._journal and (folder / SAVED_MODEL).is_dir():
            self._tell_model(
                exported_model(folder, state, self._settings, weights=weights, task=task, multi_label=multi_label)
            )
        elif self._journal and self._settings.register:
            say(f"nothing is registered as {self._settings.register}: {(folder / SAVED_MODEL).as_posix()} is not there")

    def _tell_model(self, model: Mapping[str, Any]) -> None:
        assert self._journal
        self._journal.model(model)
        if model["by_reference"]:
            size, most = sum(file["bytes"] for file in model["files"]) / 1e6, self._settings.largest_model_mb
            say(f"MLflow gets only the digest of the model {model['name']}: it has {size:.0f} MB")
            say(f"  the files stay in this workspace; track.largest_model_mb={most:g} is the limit")

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
            self._watch.end(self._settings.wait_s if wait else 0)
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
            _begin(journal, name, settings)
    except OSError as error:
        print(f"warning: no journal of this run can be written ({error}); MLflow will not have it", file=sys.stderr)
        return Tracker(run_id)
    return Tracker(run_id, settings, journal, Watch(journal, target, settings.system_every_s))


def _begin(journal: Journal, name: str | None, settings: Mlflow) -> None:
    if name is None:
        restore(journal, result_here(), settings)
        return
    experiment = os.environ.get("DVC_EXP_NAME")
    journal.run(f"{name} ({experiment})" if experiment else name)
    if sweep := POINT_OF_A_SWEEP.fullmatch(experiment or ""):
        journal.parent(sweep[1])
