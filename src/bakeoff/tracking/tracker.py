"""One run's way to MLflow: train opens it, evaluate and export attach to it, also days later.

Everything is written into the run's journal and nothing waits: a process of its own copies it to MLflow. The files
under models/ stay the record, from which a journal is restored where there is none.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from bakeoff.config.track_settings import Mlflow, Track
from bakeoff.foundation.files import read_text
from bakeoff.foundation.git import make_patch
from bakeoff.foundation.progress import print_line
from bakeoff.foundation.workspace import DVC_EXPERIMENT, EVALUATION, RUN, TRAINED, journals
from bakeoff.learning.checkpoints.run_folder import IDENTITY, CheckpointList
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.journal.artifacts import SAVED_MODEL, SUFFIX, exported_model, kept_weights
from bakeoff.tracking.journal.checkpoints import NONE, STORED_IDENTITY, describe_sending, report_checkpoints
from bakeoff.tracking.journal.entries import ModelEntry
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.journal.journal_folder import NOTE
from bakeoff.tracking.notes import notes_of
from bakeoff.tracking.report_copy import report_page
from bakeoff.tracking.results.results import Result, flatten, note_result, params_of, parse_yaml, result_here
from bakeoff.tracking.results.run_id import RESTORED, SWEEP_EXPERIMENT
from bakeoff.tracking.store.mlflow_names import describe_changes
from bakeoff.tracking.store.target import SyncProgress, Target
from bakeoff.tracking.sync.process import is_far
from bakeoff.tracking.sync.system_metrics import energy_tag
from bakeoff.tracking.sync.watch import Watch

__all__ = ["Tracker", "attach", "expect_earlier_points", "flatten", "new_run_id", "start"]

UNUSED = Mlflow()  # settings of a run that is not tracked
COMPARED = ("config/lr.svg", "evaluation/headline.json", "evaluation/pictures.jpg")
CHANGES, CHANGES_TAG = "source/changes.diff", "bakeoff.changes_sha256"
OF_THE_RUN = ("bakeoff.records_digest", "bakeoff.fingerprint", "bakeoff.continues", DVC_EXPERIMENT)  # tags


def new_run_id() -> str:
    """Return a new id of our own. MLflow gives the run another id, and keeps this one as the tag `bakeoff.run`."""
    return uuid4().hex


class Tracker:
    """Writes one run's journal, or nothing if the run is not tracked."""

    def __init__(
        self, run_id: str, settings: Mlflow = UNUSED, journal: Journal | None = None, watch: Watch | None = None
    ) -> None:
        self.run_id = run_id
        self._settings, self._journal, self._watch = settings, journal, watch
        self._has_reported_checkpoints = False

    def params(self, tree: Mapping[str, Any]) -> None:
        """Write a rendered variant as params such as `lr.peak`."""
        if self._journal:
            self._journal.params(params_of(tree))

    def network(self, model: Mapping[str, Any], classes: Sequence[str], *, multi_label: bool) -> None:
        """Write what builds the network, so that MLflow opens its checkpoints."""
        if self._journal and self._settings.checkpoints != NONE:
            self._journal.network(model, classes, multi_label=multi_label)

    def metrics(
        self, step: int, values: Mapping[str, float], *, revised: bool = False, weights: str | None = None
    ) -> None:
        """Write each metric once per step. With `revised` it is written again if its value differs. What was measured
        of the `best` or the `final` weights is also added to the models that have them.
        """
        if self._journal:
            self._journal.metrics(step, values, revised=revised, weights=weights)

    def tags(self, values: Mapping[str, str]) -> None:
        if self._journal:
            self._journal.tags(values)

    def file(self, path: Path, folder: str) -> None:
        if self._journal and path.is_file():
            self._journal.file(path, f"{folder}/{path.name}")

    def folder(self, path: Path, name: str, instead: Mapping[str, str] | None = None) -> None:
        """Write all files of a folder but weights, which are models. `instead` holds other texts for some, by their
        names.
        """
        if self._journal:
            _report_folder(self._journal, path, name, instead or {})

    def weights(self, trained: Path, state: TrainedState) -> None:
        """Write the newest and the best weights that a training kept."""
        if self._journal:
            for model in kept_weights(trained, state, self._settings):
                self._report_model(self._journal, model)

    def exported(self, folder: Path, state: TrainedState, *, weights: str, task: str, multi_label: bool) -> None:
        """Write the SavedModel of a folder. MLflow loads it as a predictor."""
        if self._journal and (folder / SAVED_MODEL).is_dir():
            model = exported_model(folder, state, self._settings, weights=weights, task=task, multi_label=multi_label)
            self._report_model(self._journal, model)
        elif self._journal and self._settings.register:
            print_line(
                f"nothing is registered as {self._settings.register}: {(folder / SAVED_MODEL).as_posix()} is not there"
            )

    def _report_model(self, journal: Journal, model: ModelEntry) -> None:
        journal.model(model)
        if model.by_reference:
            size, most = sum(file.bytes for file in model.files) / 1e6, self._settings.largest_model_mb
            print_line(f"MLflow gets only the digest of the model {model.name}: it has {size:.0f} MB")
            print_line(f"  the files stay in this workspace; track.largest_model_mb={most:g} is the limit")

    def checkpoint(self, stock: CheckpointList) -> None:
        """Write the newest checkpoint, from the thread that saved it. No failure here stops the training."""
        if not self._journal or is_far():  # a far job leaves its checkpoints in the store of work in flight
            return
        try:
            entry = report_checkpoints(self._journal, stock, self._settings)
            if entry and not self._has_reported_checkpoints:
                if (stock.folder / IDENTITY).is_file():
                    self._journal.file(stock.folder / IDENTITY, STORED_IDENTITY)
                for line in describe_sending(entry, self._settings):
                    print_line(line)
                self._has_reported_checkpoints = True
        except OSError as error:
            self._journal.trouble = error

    def dataset(
        self, name: str, digest: str, source: str, counts: Mapping[str, Any], *, context: str = "training"
    ) -> None:
        """Write the records as the data that a run was trained on, or judged on, as MLflow shows it."""
        if self._journal:
            self._journal.dataset(name, digest, source, counts, context)

    def changes(self) -> None:
        """Write how the code differs from the commit that a tag names."""
        if not self._journal or self._journal.restoring:
            return
        if patch := make_patch():
            self._journal.text(patch, CHANGES)
        # A run that resumes may have an older patch among its artifacts; this one counts.
        self._journal.tags({CHANGES_TAG: hashlib.sha256(patch).hexdigest() if patch else "none"})

    def begin_energy(self, *, has_begun: bool) -> None:
        """Measure the energy that the machine uses for a training, which may have begun in an earlier process."""
        if self._watch:
            self._watch.begin_energy(has_begun=has_begun)

    def end_energy(self) -> None:
        """Write what is known of it."""
        if self._watch:
            known = self._watch.end_energy().items()
            self.tags({energy_tag(name): "unknown" if joules is None else f"{joules:.1f}" for name, joules in known})

    def settle(self) -> None:
        """Bring to the disk all that was written until now."""
        if self._journal:
            self._journal.settle()

    @contextmanager
    def ending(self, continues_elsewhere: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Write the run's state at the end of the block: FINISHED, KILLED by Ctrl-C, FAILED by anything else. Nothing
        more is written of a run that continues elsewhere, for the other machine writes that.
        """
        status = "FAILED"
        if self._journal:
            self._journal.is_silent = continues_elsewhere
            self._journal.state("RUNNING")
        try:
            yield
            status = "FINISHED"
            with suppress(OSError):
                note_result(self.run_id)
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        finally:
            if self._journal:
                self._journal.state(status)
            self.close(wait=status == "FINISHED")

    def close(self, *, wait: bool = True) -> None:
        """Wait a while for MLflow. The sender continues after this process ends."""
        if self._journal and self._watch:
            self._watch.end(self._settings.wait_s if wait else 0)
            self._journal.close()
        self._journal = self._watch = None

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.close(wait=kind is None)


def start(
    settings: Track, name: str, tags: Mapping[str, str], *, note: str | None = None, run_id: str | None = None,
    is_over: bool = False,
) -> Tracker:  # fmt: skip
    """Open a new run in the store that the settings name, or one that was interrupted.

    Nothing is added to a run that `is_over` and has a whole journal: the clock and the machine of today are none of its
    own. If its journal is gone, it is written anew for a store that lacks it, without today's code and machine.
    """
    tracker = _open(settings, run_id or new_run_id(), name)
    journal = tracker._journal
    if is_over and journal and journal.is_finished:
        tracker.close(wait=False)
    elif is_over and journal and journal.is_new:
        journal.restoring = True
        tags = {key: value for key, value in tags.items() if key in OF_THE_RUN} | {RESTORED: "true"}
    tracker.tags(tags)
    for text in notes_of(note):
        tracker.tags({NOTE: text})
    return tracker


def attach(settings: Track, run_id: str | None, name: str | None = None) -> Tracker:
    """Return the tracker of a run that an earlier stage opened. A run that was trained elsewhere is written from the
    files first.

    A `name` means that the workspace's files are not this run's: the store has it, and gets only what is written now.
    """
    return _open(settings, run_id or new_run_id(), name)


def restore(journal: Journal, result: Result, settings: Mlflow) -> None:
    """Write the journal of a run that was made elsewhere from what it left. Files are written only of a result that is
    in the workspace. A store that has the run gets nothing of this.
    """
    journal.restoring = True
    journal.run(result.name)
    journal.tags({RESTORED: "true", "bakeoff.weights_sha256": result.state.weights_sha256 or "unknown"})
    if fingerprint := result.state.lineage.fingerprint:
        journal.tags({"bakeoff.fingerprint": fingerprint})
    report_result(journal, result)
    if not result.experiment:
        for folder, name in ((RUN.parent, "config"), (TRAINED, "train"), (EVALUATION, "evaluation")):
            _report_folder(journal, folder, name, report_page(folder, result.state) if folder == EVALUATION else {})
        for model in kept_weights(TRAINED, result.state, settings):
            journal.model(model)
    journal.state("FINISHED")
    journal.restoring = False


def report_result(journal: Journal, result: Result) -> None:
    """Write the variant and its numbers."""
    if result.experiment:
        journal.tags({DVC_EXPERIMENT: result.experiment})
    if note := result.variant.get("note"):
        journal.tags({NOTE: str(note)})
    journal.params(result.params)
    for step, values in result.points():
        journal.metrics(step, values)
    if result.run_yaml:
        journal.text(result.run_yaml, f"config/{RUN.name}")


def expect_earlier_points(run_id: str, settings: Track) -> None:
    """Have each point of a run looked up before it is sent, for another machine may have sent it."""
    if isinstance(settings, Mlflow) and not (journals() / run_id).is_dir():
        SyncProgress(is_doubtful=True).write(journals() / run_id, Target.from_settings(settings))


def _report_folder(journal: Journal, folder: Path, name: str, instead: Mapping[str, str]) -> None:
    """Write a folder's files. What people compare lies in no folder, for MLflow sets no other files side by side."""
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        place = file.relative_to(folder).as_posix()
        if place in instead:
            journal.text(instead[place], f"{name}/{place}")
        elif file.is_file() and not file.name.endswith(SUFFIX):
            full = f"{name}/{place}"
            journal.file(file, file.name if full in COMPARED else full)


def _open(settings: Track, run_id: str, name: str | None) -> Tracker:
    if not isinstance(settings, Mlflow):
        return Tracker(run_id)
    target = Target.from_settings(settings)
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
    experiment, name = os.environ.get(DVC_EXPERIMENT), settings.name or name
    differs = "" if settings.name else describe_changes(parse_yaml(read_text(RUN)))
    journal.run(f"{name} ({experiment})" if experiment else name, differs)
    if sweep := SWEEP_EXPERIMENT.fullmatch(experiment or ""):
        journal.parent(sweep[1])
