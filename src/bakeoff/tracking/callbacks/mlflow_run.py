"""A training -> its journal, from which MLflow gets a copy: settings, data, curves, checkpoints, results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import SEEN
from bakeoff.foundation import workspace
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_folder import CheckpointList
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.run_file.read_write import unsealed
from bakeoff.learning.run_file.settings import LearningRun
from bakeoff.learning.run_file.yaml_file import read_mapping
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.training import Training
from bakeoff.learning.training.workers import Alone
from bakeoff.tracking.results.lineage import Ancestry
from bakeoff.tracking.results.measurements import RESUMED_TAG
from bakeoff.tracking.tracker import Tracker

STARTS_TAG, LICENCES_TAG = "bakeoff.first_weights", "bakeoff.first_weights_licences"
IN_TAGS = ("weights_sha256", "peak_memory_bytes", "memory_estimate_bytes", "seconds")


class MlflowRun(Callback):
    def __init__(
        self, tracker: Tracker, run: LearningRun, manifest: Manifest, records: Path, ancestry: Ancestry
    ) -> None:
        self._tracker, self._run, self._manifest = tracker, run, manifest
        self._records, self._ancestry = records, ancestry
        self._phases: Sequence[str] = ()

    def on_start(self, training: Training) -> None:
        """Write what is trained, on which data, by which code; and lines that a loss of power took of the journal."""
        tracker, manifest = self._tracker, self._manifest
        variant = unsealed(read_mapping(workspace.RUN))
        tracker.params(variant)
        tracker.network(variant["model"], manifest.classes, multi_label=manifest.multi_label)
        tracker.folder(workspace.RUN.parent, "config")
        tracker.file(self._records / workspace.RECORDS_PAGE.name, "data")
        counts = {split: manifest.splits[split].examples for split in SEEN}
        tracker.dataset(self._run.variant["data"], manifest.digest, self._records.as_posix(), counts)
        licences = ", ".join(self._ancestry.licences) or "none"
        tracker.tags({STARTS_TAG: self._ancestry.in_words, LICENCES_TAG: licences})
        tracker.changes()
        self._phases = [phase.span.name for phase in training.phases]
        if isinstance(training.workers, Alone):  # else machines are at work that nobody measures
            tracker.begin_energy(has_begun=training.position.step > 0)
        for line in training.history:  # a journal keeps nothing twice
            self.on_log(line)

    def on_log(self, line: LogLine) -> None:
        self._tracker.metrics(line.step, line.metrics(self._phases))

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self.on_log(line)

    def on_checkpoint_start(self) -> None:
        """Bring to the disk what the checkpoint counts as written."""
        self._tracker.settle()

    def on_checkpoint(self, stock: CheckpointList) -> None:
        self._tracker.checkpoint(stock)


def report_results(
    tracker: Tracker, in_flight: Path, out: Path, state: TrainedState, measured: Mapping[str, Any]
) -> None:
    from bakeoff.tracking.callbacks.tensorboard import EVENTS

    tracker.end_energy()
    facts = {"weights_sha256": state.weights_sha256, **measured}
    tracker.tags({f"bakeoff.{key}": str(facts[key]) for key in IN_TAGS if key in facts})
    resumed = measured["resumed_at_steps"]
    tracker.tags({RESUMED_TAG: " ".join(map(str, resumed))} if resumed else {})
    tracker.folder(out, "train")
    tracker.folder(in_flight / EVENTS, f"train/{EVENTS}")
    tracker.weights(out, state)
