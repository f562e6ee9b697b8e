"""`box_predictor` <-> settings of the heads, of one map each or shared by all levels."""

from typing import Any

from bakeoff.networks.ssd_fpn import SharedBoxPredictor
from bakeoff.networks.ssd_multibox import BoxPredictor
from bakeoff.object_detection_api import convolutions
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, field

OWN, SHARED = "convolutional_box_predictor", "weight_shared_convolutional_box_predictor"


def written(predictor: BoxPredictor | SharedBoxPredictor, conv_hyperparams: Lines) -> Lines:
    both = [
        conv_hyperparams,
        field("num_layers_before_predictor", predictor.layers_before),
        field("kernel_size", predictor.kernel),
        field("box_code_size", 4),
        field("class_prediction_bias_init", predictor.class_bias),
        field("use_depthwise", predictor.depthwise),
        field("use_dropout", predictor.dropout > 0),
        field("dropout_keep_probability", _other_share(predictor.dropout)) if predictor.dropout else [],
    ]
    if isinstance(predictor, SharedBoxPredictor):
        of_kind = [field("depth", predictor.depth), field("share_prediction_tower", predictor.share_tower)]
        return block("box_predictor", block(SHARED, *of_kind, *both))
    of_kind = [field("min_depth", predictor.min_depth), field("max_depth", predictor.max_depth)]
    return block("box_predictor", block(OWN, *of_kind, *both))


def read(ssd: Block, report: Report, *, shared: bool) -> dict[str, Any]:
    """Settings `predictor` and `predictor_convolutions` of a network whose heads are `shared` by all levels or not."""
    outer = ssd.inner("box_predictor")
    wanted, other = (SHARED, OWN) if shared else (OWN, SHARED)
    chosen = outer.chosen("box_predictor_oneof")
    if chosen != wanted:
        kind = "shared by all levels" if shared else "of one map each"
        said = chosen or "no box predictor"
        report.changed(ssd, "box_predictor", f"{said} does not go with this network here, whose heads are {kind}")
    if chosen not in (wanted, other):
        return {}
    assert chosen
    inner = outer.inner(chosen)
    layers = inner.whole("num_layers_before_predictor")
    predictor: dict[str, Any] = {
        "kernel": inner.whole("kernel_size"),
        "depthwise": inner.flag("use_depthwise"),
        "layers_before": layers,
        "class_bias": inner.number("class_prediction_bias_init"),
        "dropout": _dropout(inner),
    }
    if predictor["depthwise"] and predictor["kernel"] == 1:
        report.changed(inner, "use_depthwise", "a depthwise convolution of kernel 1 only scales; left out here")
        predictor["depthwise"] = False
    if chosen == SHARED and shared:
        predictor |= {"depth": inner.whole("depth"), "share_tower": inner.flag("share_prediction_tower")}
    elif not shared:
        predictor |= _own_depth(inner, chosen, layers)
    normalised = predictor["layers_before"] > 0
    return {
        "predictor": predictor,
        "predictor_convolutions": convolutions.read(inner, report, normalised=normalised),
    }


def _own_depth(inner: Block, chosen: str, layers: int) -> dict[str, Any]:
    """How deep the layers before are."""
    low, high = (
        (inner.whole("depth"),) * 2 if chosen == SHARED else (inner.whole("min_depth"), inner.whole("max_depth"))
    )
    if layers and high == 0:  # that API then leaves the layers out
        return {"min_depth": 0, "max_depth": 0, "layers_before": 0}
    return {"min_depth": low, "max_depth": max(low, high)}


def _dropout(inner: Block) -> float:
    keep = inner.number("dropout_keep_probability")
    return _other_share(keep) if inner.flag("use_dropout") else 0.0


def _other_share(share: float) -> float:
    return round(1 - share, 9)
