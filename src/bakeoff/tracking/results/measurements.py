"""What the clock and the machine decided of a run, by its fingerprint: `.bakeoff/results/<fingerprint>.json`.

{"run_id": "0b9f...", "seconds": 112.4, "peak_memory_bytes": 903000064, "resumed_at_steps": [40], ...}

No output holds these, so that outputs repeat to the byte. Of a result that came by `dvc pull` none of this is known.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bakeoff.foundation import workspace
from bakeoff.foundation.files import read_json, write_whole
from bakeoff.learning.checkpoints.trained_state import TrainedState

RESUMED_TAG = "bakeoff.resumed_at_steps"


def read_measured(fingerprint: str | None) -> dict[str, Any]:
    """Return what is known; nothing of a run that was trained elsewhere."""
    return read_json(workspace.results() / f"{fingerprint}.json")


def keep_measured(fingerprint: str, **facts: Any) -> None:
    known = read_measured(fingerprint) | facts
    write_whole(workspace.results() / f"{fingerprint}.json", json.dumps(known, indent=1) + "\n", lasting=True)


def describe_source(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the commit that `source_tags` name, and that a training by it ended now."""
    return {
        "commit": tags["bakeoff.git_commit"],
        "uncommitted_changes": tags["bakeoff.git_dirty"] == "true",
        "ended": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def trace(fingerprint: str, tags: Mapping[str, str], *, is_over: bool, had_ended: bool) -> dict[str, Any]:
    """Return by which code a run was trained and when; of one that `is_over`, so that this process took no step,
    whatever was measured before. If it `had_ended` before, today's code and date are none of its own."""
    if not is_over:
        return describe_source(tags)
    return ({} if had_ended else describe_source(tags)) | read_measured(fingerprint)


def measured_of(state: TrainedState) -> dict[str, Any]:
    """Return what was measured of the run that ended so, in its file or, by earlier versions, in its `state.json`."""
    return {**state.measured, **read_measured(state.lineage.fingerprint)}


def run_id_of(state: TrainedState) -> str | None:
    """Return our id of the run that made a result, by how that ended; earlier versions wrote the id into its file.

    A result that was trained elsewhere has an id that follows from what it is, so that every command gives it the same.
    """
    if run_id := measured_of(state).get("run_id"):
        return run_id
    fingerprint = state.lineage.fingerprint
    made_from = f"{fingerprint} {state.weights_sha256}"
    return hashlib.sha256(made_from.encode()).hexdigest()[:32] if fingerprint else None
