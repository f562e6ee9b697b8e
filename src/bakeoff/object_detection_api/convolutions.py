"""`conv_hyperparams` <-> settings of `Convolutions`.

The weight penalty is the same number in both: half of it times the sum of squares.
"""

from typing import Any

from bakeoff.networks.detector import Convolutions
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, Word, block, field

ACTIVATIONS = {"relu6": "RELU_6", "relu": "RELU"}


def written(convolutions: Convolutions) -> Lines:
    return block(
        "conv_hyperparams",
        field("activation", Word(ACTIVATIONS[convolutions.activation])),
        block("regularizer", block("l2_regularizer", field("weight", convolutions.l2_weight))),
        block(
            "initializer",
            block(
                f"{convolutions.initializer}_initializer",
                field("stddev", convolutions.initial_deviation),
                field("mean", 0.0),
            ),
        ),
        block(
            "batch_norm",
            field("scale", True),
            field("decay", convolutions.batch_norm_momentum),
            field("epsilon", convolutions.batch_norm_epsilon),
        ),
    )


def read(owner: Block, report: Report, *, normalised: bool = True) -> dict[str, Any]:
    """Of the message that holds the `conv_hyperparams`; `normalised`: a batch norm follows its convolutions."""
    said = owner.inner("conv_hyperparams")
    settings: dict[str, Any] = {"l2_weight": _penalty(said, report)}
    activation = said.text("activation")
    names = {theirs: ours for ours, theirs in ACTIVATIONS.items()}
    if activation in names:
        settings["activation"] = names[activation]
    else:
        report.changed(said, "activation", f"there is no {activation} here; RELU_6 stands in its place")
    settings |= _start(said, report)
    norm = said.chosen("normalizer_oneof")
    if norm in ("batch_norm", "sync_batch_norm"):
        settings["batch_norm_momentum"] = said.inner(norm).number("decay")
        settings["batch_norm_epsilon"] = said.inner(norm).number("epsilon")
        if norm == "sync_batch_norm":
            report.changed(said, norm, "becomes a batch norm over each device's share of the batch")
    elif normalised:
        report.lost(owner, "conv_hyperparams", "without batch_norm; convolutions are followed by a batch norm here")
    return settings


def _penalty(said: Block, report: Report) -> float:
    regularizer = said.inner("regularizer")
    if regularizer.has("l2_regularizer"):
        return regularizer.inner("l2_regularizer").number("weight")
    return 0.0


def _start(said: Block, report: Report) -> dict[str, Any]:
    initializer = said.inner("initializer")
    for name in ("random_normal", "truncated_normal"):
        key = f"{name}_initializer"
        if initializer.has(key):
            return {"initializer": name, "initial_deviation": initializer.inner(key).number("stddev")}
    if said.has("initializer"):
        kind = initializer.chosen("initializer_oneof")
        report.changed(said, "initializer", f"there is no {kind} here; random_normal of 0.01 stands in its place")
        initializer.pass_over(*([kind] if kind else []))
    return {}
