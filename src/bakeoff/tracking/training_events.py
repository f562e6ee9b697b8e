"""What trackers get of a training besides its curves: the settings before its first step, and the results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import SEEN
from bakeoff.foundation import workspace
from bakeoff.learning.pretrained import lineage
from bakeoff.learning.run_file.settings import Run, as_tree
from bakeoff.tracking.results.measurements import RESUMED_TAG
from bakeoff.tracking.tracker import Tracker

STARTS_TAG, LICENCES_TAG = "bakeoff.first_weights", "bakeoff.first_weights_licences"
IN_TAGS = ("weights_sha256", "peak_memory_bytes", "memory_estimate_bytes", "seconds")


def introduce(copy: Tracker, run: Run, manifest: Manifest, records: Path, starts: lineage.Lineage) -> None:
    """Write what is trained, on which data, by which code."""
    copy.params(as_tree(run))
    copy.folder(workspace.RUN.parent, "config")
    copy.file(records / workspace.RECORDS_PAGE.name, "data")
    counts = {split: manifest.splits[split].examples for split in SEEN}
    copy.dataset(run.variant["data"], manifest.digest, records.as_posix(), counts)
    licences = ", ".join(lineage.licences_of(starts)) or "none"
    copy.tags({STARTS_TAG: lineage.in_words(starts), LICENCES_TAG: licences})
    copy.changes()


def report_results(
    copy: Tracker, in_flight: Path, out: Path, state: Mapping[str, Any], measured: Mapping[str, Any]
) -> None:
    from bakeoff.learning.training.sample_images import EVENTS

    facts = {**state, **measured}
    copy.tags({f"bakeoff.{key}": str(facts[key]) for key in IN_TAGS if key in facts})
    resumed = measured["resumed_at_steps"]
    copy.tags({RESUMED_TAG: " ".join(map(str, resumed))} if resumed else {})
    copy.folder(out, "train")
    copy.folder(in_flight / EVENTS, f"train/{EVENTS}")
    copy.weights(out, dict(state))
