"""`model { ssd { … } }` <-> a detection option of `conf/model/`."""

from typing import Any, TypeAlias, get_args

from bakeoff.errors import ConfigError
from bakeoff.networks.ssd import Ssd
from bakeoff.networks.ssd_fpn import SsdFpn
from bakeoff.networks.ssd_multibox import SsdMultibox
from bakeoff.object_detection_api import anchors, box_predictor, feature_extractor, image_resizer, loss, matching
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.convolutions import written as written_convolutions
from bakeoff.object_detection_api.feature_extractor import Extractor
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field

Detector: TypeAlias = Ssd | SsdFpn | SsdMultibox


def written(network: Detector, num_classes: int, *, count_background: bool) -> Lines:
    assert isinstance(network, get_args(Detector)), type(network)
    counted = "The number of labels: that API adds the background itself."
    if count_background:
        counted = "One more than labels (export.count_background): an output that nothing will use."
    return block(
        "model",
        block(
            "ssd",
            comment(counted),
            field("num_classes", num_classes + count_background),
            image_resizer.written(network.input_size),
            feature_extractor.written(network),
            matching.written(network.box_scales, network.loss),
            _anchors(network),
            _predictor(network),
            loss.written(network.loss, network.mining),
            loss.written_suppression(network.suppression, network.loss),
            field("freeze_batchnorm", False),
        ),
    )


def _anchors(network: Detector) -> Lines:
    if isinstance(network, SsdMultibox):
        return anchors.written_for_maps(network.anchors, network.num_maps)
    levels = tuple(stride.bit_length() - 1 for stride in network.strides)
    return anchors.written_for_levels(network.anchors, levels)


def _predictor(network: Detector) -> Lines:
    if isinstance(network, Ssd):
        return block(
            "box_predictor",
            block(
                box_predictor.SHARED,
                field("depth", network.pyramid_channels),
                field("num_layers_before_predictor", network.head_convolutions),
                field("kernel_size", 3),
                field("share_prediction_tower", True),
                field("class_prediction_bias_init", -4.595),  # a score of 0.01
            ),
        )
    return box_predictor.written(network.predictor, written_convolutions(network.predictor_convolutions))


def read(ssd: Block, report: Report) -> dict[str, Any]:
    """Settings of a group `model`, with the `kind`."""
    extractor = feature_extractor.read(ssd, report)
    size = image_resizer.read(ssd, extractor.kind, extractor.backbone, report)
    rule = loss.read(ssd, report) | matching.read_matcher(ssd, report)
    tree: dict[str, Any] = {"kind": extractor.kind, "input_size": size} | extractor.settings
    tree |= {"anchors": _read_anchors(ssd, extractor, report), "loss": rule, "mining": loss.read_mining(ssd)}
    scores = "softmax" if rule.get("classes") == "softmax" else "sigmoid"
    tree["suppression"] = loss.read_suppression(ssd, scores, report)
    scales = matching.read_box_scales(ssd, report)
    if extractor.kind == "ssd":
        if tuple(scales) != Ssd.box_scales:
            report.changed(ssd, "box_coder", f"this network codes boxes by {', '.join(map(str, Ssd.box_scales))}")
        _read_own_head(ssd, tree)
    else:
        tree |= {"box_scales": scales} | box_predictor.read(ssd, report, shared=extractor.kind == "ssd_fpn")
    return tree


def _read_anchors(ssd: Block, extractor: Extractor, report: Report) -> dict[str, Any]:
    settings = extractor.settings
    if extractor.kind == "ssd_multibox":
        return anchors.read_for_maps(ssd, report, settings["num_maps"])
    if extractor.kind == "ssd_fpn":
        levels = (settings["pyramid"]["min_level"], settings["pyramid"]["max_level"])
        return anchors.read_for_levels(ssd, report, levels, octave_key="scales_per_octave")
    lowest, highest = (stride.bit_length() - 1 for stride in (min(Ssd.strides), max(Ssd.strides)))
    return anchors.read_for_levels(ssd, report, (lowest, highest), octave_key="octave_steps")


def _read_own_head(ssd: Block, tree: dict[str, Any]) -> None:
    head = ssd.inner("box_predictor").inner(box_predictor.SHARED)
    head.pass_over("depth", "kernel_size", "share_prediction_tower", "class_prediction_bias_init")
    tree["head_convolutions"] = head.whole("num_layers_before_predictor")


def ssd_of(root: Block, file: str) -> Block:
    """The file's SSD; refuses what is no SSD, and no pipeline at all."""
    model = root.inner("model")
    if not root.has("model"):
        raise ConfigError(f"{file}: not a pipeline.config: it has no block `model {{ ssd {{ … }} }}`")
    chosen = model.chosen("model")
    if chosen != "ssd":
        said = f"a {chosen} model" if chosen else "no model"
        line = model.line_of(chosen) if chosen else model.line
        raise ConfigError(f"{file}:{line}: model: only `ssd` can be carried over, got {said}")
    return model.inner("ssd")
