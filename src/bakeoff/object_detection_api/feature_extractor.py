"""`feature_extractor` <-> settings of the backbone, the pyramid and their convolutions."""

from dataclasses import dataclass
from typing import Any

from bakeoff.networks.ssd import Ssd
from bakeoff.networks.ssd_fpn import SsdFpn
from bakeoff.networks.ssd_multibox import SsdMultibox
from bakeoff.object_detection_api import convolutions
from bakeoff.object_detection_api.block import Block
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field

OWN_TYPE = "bakeoff_ssd"
PYRAMIDS = {  # that API's names under TensorFlow 2; under TensorFlow 1 they lack `_keras`
    "mobilenet_v1": "ssd_mobilenet_v1_fpn_keras",
    "mobilenet_v2": "ssd_mobilenet_v2_fpn_keras",
    "resnet50": "ssd_resnet50_v1_fpn_keras",
}
MAPS = {"mobilenet_v1": "ssd_mobilenet_v1_keras", "mobilenet_v2": "ssd_mobilenet_v2_keras"}
NEAREST = (("resnet", "resnet50"), ("mobilenet_v1", "mobilenet_v1"))  # by what the type's name holds; else mobilenet_v2


@dataclass(frozen=True)
class Extractor:
    """Which of this project's networks a feature extractor becomes, and its settings so far."""

    kind: str  # of NETWORKS
    backbone: str
    settings: dict[str, Any]


def written(network: Ssd | SsdFpn | SsdMultibox) -> Lines:
    if isinstance(network, Ssd):
        return _own(network)
    backbone = network.backbone
    shared = [
        field("depth_multiplier", backbone.depth_multiplier),
        field("min_depth", backbone.min_depth),
        convolutions.written(network.convolutions),
        field("override_base_feature_extractor_hyperparams", backbone.override_hyperparameters),
    ]
    if isinstance(network, SsdMultibox):
        of_kind = [field("num_layers", network.num_maps), field("use_depthwise", network.depthwise_maps)]
        return block("feature_extractor", field("type", MAPS[backbone.name]), *of_kind, *shared)
    pyramid = network.pyramid
    fpn = block(
        "fpn",
        field("min_level", pyramid.min_level),
        field("max_level", pyramid.max_level),
        field("additional_layer_depth", pyramid.depth),
    )
    of_kind = [field("use_depthwise", pyramid.depthwise), fpn]
    return block("feature_extractor", field("type", PYRAMIDS[backbone.name]), *of_kind, *shared)


def _own(network: Ssd) -> Lines:
    levels = [stride.bit_length() - 1 for stride in network.strides]
    return block(
        "feature_extractor",
        comment(
            f"This network is bakeoff's own: that API has to have a feature extractor registered as {OWN_TYPE!r}. "
            "Every other detection option of conf/model is one that the API knows."
        ),
        field("type", OWN_TYPE),
        field("depth_multiplier", network.width),
        block(
            "fpn",
            field("min_level", min(levels)),
            field("max_level", max(levels)),
            field("additional_layer_depth", network.pyramid_channels),
        ),
        block(
            "conv_hyperparams",
            block("batch_norm", field("scale", True), field("decay", network.batch_norm_momentum)),
        ),
    )


def read(ssd: Block, report: Report) -> Extractor:
    said = ssd.inner("feature_extractor")
    name = said.text("type")
    if name == OWN_TYPE:
        return _read_own(said)
    plain = name.removesuffix("_keras")
    pyramids = {theirs.removesuffix("_keras"): ours for ours, theirs in PYRAMIDS.items()}
    maps = {theirs.removesuffix("_keras"): ours for ours, theirs in MAPS.items()}
    if plain in pyramids:
        kind, backbone = "ssd_fpn", pyramids[plain]
    elif plain in maps:
        kind, backbone = "ssd_multibox", maps[plain]
    else:
        kind = "ssd_fpn" if _has_pyramid(ssd) else "ssd_multibox"
        known = PYRAMIDS if kind == "ssd_fpn" else MAPS
        backbone = next((ours for word, ours in NEAREST if word in plain and ours in known), "mobilenet_v2")
        report.changed(said, "type", f"there is no {name!r} here; {kind} with {backbone} stands in its place")
    settings: dict[str, Any] = {
        "backbone": {
            "name": backbone,
            "depth_multiplier": said.number("depth_multiplier"),
            "min_depth": said.whole("min_depth"),
            "override_hyperparameters": said.flag("override_base_feature_extractor_hyperparams"),
        },
        "convolutions": convolutions.read(said, report),
    }
    if kind == "ssd_fpn":
        settings["pyramid"] = _read_pyramid(said, report) | {"depthwise": said.flag("use_depthwise")}
        if settings["pyramid"]["depthwise"] and backbone == "resnet50":
            report.changed(said, "use_depthwise", "resnet50 has a pyramid of full convolutions here")
            settings["pyramid"]["depthwise"] = False
    else:
        settings |= {"num_maps": _num_maps(ssd), "depthwise_maps": said.flag("use_depthwise")}
    return Extractor(kind, backbone, settings)


def _has_pyramid(ssd: Block) -> bool:
    """Of a feature extractor that this project does not have."""
    levels = ssd.inner("feature_extractor").chosen("feature_pyramid_oneof") is not None
    return levels or ssd.inner("anchor_generator").has("multiscale_anchor_generator")


def _num_maps(ssd: Block) -> int:
    """Old files say it only of the anchors."""
    said, anchors = ssd.inner("feature_extractor"), ssd.inner("anchor_generator").inner("ssd_anchor_generator")
    return said.whole("num_layers") if said.has("num_layers") else anchors.whole("num_layers")


def _read_pyramid(said: Block, report: Report) -> dict[str, Any]:
    if said.has("bifpn"):
        bifpn = said.inner("bifpn")
        report.changed(said, "bifpn", "there is no two-way pyramid here; a plain one of its levels stands in its place")
        bifpn.pass_over("num_iterations", "combine_method")
        pyramid = {"depth": bifpn.whole("num_filters") or 256}
        return pyramid | {key: bifpn.whole(key) for key in ("min_level", "max_level")}
    fpn = said.inner("fpn")
    pyramid = {"depth": fpn.whole("additional_layer_depth")}
    return pyramid | {key: fpn.whole(key) for key in ("min_level", "max_level")}


def _read_own(said: Block) -> Extractor:
    said.inner("fpn").pass_over("min_level", "max_level")
    norm = said.inner("conv_hyperparams").inner("batch_norm")
    settings = {
        "width": said.number("depth_multiplier"),
        "pyramid_channels": said.inner("fpn").whole("additional_layer_depth"),
        "batch_norm_momentum": norm.number("decay"),
    }
    return Extractor("ssd", OWN_TYPE, settings)
