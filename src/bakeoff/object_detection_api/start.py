"""`fine_tune_checkpoint` and its type <-> the weights that training starts from (`train.init`)."""

import re
from typing import Any

from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, Word, comment, field
from bakeoff.training.settings import Init

PARTS = {"classification": ("backbone",), "detection": ("backbone", "neck"), "full": ()}
CHECKPOINT = re.compile(r"ckpt(-\d+)?(\.index)?$")
PLACEHOLDER = re.compile(r"TO_BE_CONFIGURED")


def written(init: Init) -> Lines:
    if init.weights == "none":
        return []
    if init.weights == "imagenet":
        return comment(
            "The variant's backbone starts from ImageNet's weights of keras.applications. That API wants a checkpoint "
            'of its own: set fine_tune_checkpoint to one, with fine_tune_checkpoint_type: "classification".'
        )
    if not CHECKPOINT.search(init.weights):
        return comment(
            f"The variant starts from {init.weights!r}, which is no TensorFlow checkpoint; that API reads only those."
        )
    kind = next((kind for kind, parts in PARTS.items() if set(parts) == set(init.warm_start)), None)
    unsaid = [] if kind else comment(f"That API cannot load by pattern ({', '.join(init.warm_start)}); all is loaded.")
    return [
        *unsaid,
        *field("fine_tune_checkpoint", init.weights.removesuffix(".index")),
        *field("fine_tune_checkpoint_type", kind or "full"),
        *field("fine_tune_checkpoint_version", Word("V2")),
    ]


def read(train: Block, report: Report) -> dict[str, Any]:
    """Settings of `train.init`."""
    path, kind = train.text("fine_tune_checkpoint"), train.text("fine_tune_checkpoint_type")
    if not path:
        return {}
    train.pass_over("fine_tune_checkpoint_version")
    if not kind:  # as before the type was there
        kind = "detection" if train.flag("from_detection_checkpoint") else "classification"
    if PLACEHOLDER.search(path):
        if kind == "classification":
            report.changed(train, "fine_tune_checkpoint", "a placeholder; train.init.weights: imagenet in its place")
            return {"weights": "imagenet"}
        report.lost(train, "fine_tune_checkpoint", "a placeholder; say train.init.weights where the checkpoint is")
        return {}
    if kind not in PARTS:
        report.changed(train, "fine_tune_checkpoint_type", f"no such type {kind!r} here; whatever fits is loaded")
    return {"weights": path, "warm_start": list(PARTS.get(kind, ()))}
