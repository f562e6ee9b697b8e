"""What names a run's work in flight: a hash of everything that decides its result.

Two runs with one fingerprint end in the same weights, so the one may resume where the other was interrupted.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bakeoff.foundation.result_code import deciding_digest
from bakeoff.foundation.versions import library_version

DECIDING_GROUPS = ("seed", "model", "lr", "optimizer", "train")
DECIDING_NUMBERS = ("task", "num_classes", "train_examples", "validation_examples", "phases", "shuffle_windows")
# Of `train`: how, not what. The run that is continued counts by its content.
NO_MATTER = (
    "fresh", "checkpoint_every_steps", "checkpoint_every_seconds", "continue_from", "keep_every_steps",
    "steps_per_call", "samples", "samples_mb", "tensorboard", "gradient_histograms",
)  # fmt: skip
LIBRARIES = ("tensorflow", "keras", "numpy")
LENGTH = 16


def fingerprint(tree: Mapping[str, Any], **others: str) -> str:
    return name_of(identity(tree, **others))


def name_of(identity: Mapping[str, Any]) -> str:
    """A hash of it."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:LENGTH]


def identity(tree: Mapping[str, Any], **others: str) -> dict[str, Any]:
    """Of the rendered variant as plain values, and what else decides: the records, first weights, libraries, code."""
    deciding = {group: tree[group] for group in DECIDING_GROUPS} | {
        "derived": {key: tree["derived"][key] for key in DECIDING_NUMBERS}
    }
    deciding["train"] = {key: value for key, value in deciding["train"].items() if key not in NO_MATTER}
    deciding["train"]["init"] = {key: value for key, value in deciding["train"]["init"].items() if key != "meant"}
    if "teacher" in deciding["train"]:  # it counts by its weights
        deciding["train"]["teacher"] = {
            key: value for key, value in deciding["train"]["teacher"].items() if key != "run"
        }
    if any(phase.get("quantize") for phase in deciding["train"]["phases"]):
        deciding["ranges"] = True  # more variables from the first phase on: checkpoints fit no run without
    versions = {name: library_version(name) for name in LIBRARIES}
    return deciding | others | {"versions": versions, "code": deciding_digest("train")}
