"""A detector <-> `model { ssd { … } }`.

A table names for each field the setting that it holds. The writer fills the tables, and the importer reads by them.
"""

from typing import TypeAlias, TypeGuard

from bakeoff.config.api_export.messages import Key, Noted, Tree, fill, keys, round_off
from bakeoff.learning.networks.detector_settings import RESNETS, Convolutions
from bakeoff.learning.networks.letterbox import GREY, LETTERBOX
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from bakeoff.learning.networks.ssd_multibox import SsdMultibox

SsdDetector: TypeAlias = Ssd | SsdFpn | SsdMultibox

KINDS = {Ssd: "ssd", SsdFpn: "ssd_fpn", SsdMultibox: "ssd_multibox"}
OWN_TYPE = "bakeoff_ssd"
TYPES = {  # by network and backbone; that API's names under TensorFlow 2; under TensorFlow 1 they lack `_keras`
    ("ssd_fpn", "mobilenet_v1"): "ssd_mobilenet_v1_fpn_keras",
    ("ssd_fpn", "mobilenet_v2"): "ssd_mobilenet_v2_fpn_keras",
    **{("ssd_fpn", name): f"ssd_{name}_v1_fpn_keras" for name in RESNETS},
    ("ssd_multibox", "mobilenet_v1"): "ssd_mobilenet_v1_keras",
    ("ssd_multibox", "mobilenet_v2"): "ssd_mobilenet_v2_keras",
}
OWN_TYPE_NOTE = (
    f"This network is bakeoff's own: that API has to have a feature extractor registered as {OWN_TYPE!r}. "
    "Every other detection option of conf/model is one that the API knows."
)
MAP_HEADS, SHARED_HEADS = "convolutional_box_predictor", "weight_shared_convolutional_box_predictor"
LEVEL_ANCHORS, MAP_ANCHORS = "multiscale_anchor_generator", "ssd_anchor_generator"
BOX_CODER_SCALES = ("y_scale", "x_scale", "height_scale", "width_scale")
CLASS_LOSSES = {"sigmoid_focal": "weighted_sigmoid_focal", "sigmoid": "weighted_sigmoid", "softmax": "weighted_softmax"}


def _levels(network: Ssd | SsdFpn) -> list[int]:
    """Return the pyramid's levels; one of stride 8 is level 3."""
    return [stride.bit_length() - 1 for stride in network.strides]


def _describe_initializer(convolutions: Convolutions) -> Tree:
    return {f"{convolutions.initializer}_initializer": {"stddev": convolutions.initial_deviation, "mean": 0.0}}


def _keep_share(network: SsdFpn | SsdMultibox) -> float | None:
    dropout = network.predictor.dropout
    return round_off(1 - dropout) if dropout else None


def _describe_class_loss(network: SsdDetector) -> Tree:
    focal = fill(FOCAL, network) if network.loss.classes == "sigmoid_focal" else {}
    return {CLASS_LOSSES[network.loss.classes]: focal}


BATCH_NORM = keys("", decay="batch_norm_momentum", epsilon="batch_norm_epsilon")
CONVOLUTIONS: Tree = {  # the weight penalty is the same number in both: half of it times the sum of squares
    "activation": Key("activation", {"relu6": "RELU_6", "relu": "RELU"}),
    "regularizer": {"l2_regularizer": {"weight": Key("l2_weight")}},
    "initializer": _describe_initializer,
    "batch_norm": {"scale": True} | BATCH_NORM,
}
BACKBONE: Tree = {
    "conv_hyperparams": lambda network: fill(CONVOLUTIONS, network.convolutions),
    **keys("backbone", "depth_multiplier", "min_depth"),
    **keys("backbone", override_base_feature_extractor_hyperparams="override_hyperparameters"),
}
PYRAMID_LEVELS = keys("pyramid", "min_level", "max_level")
PYRAMID = PYRAMID_LEVELS | keys("pyramid", additional_layer_depth="depth")
LEVELS: Tree = {"min_level": lambda network: min(_levels(network)), "max_level": lambda network: max(_levels(network))}
EXTRACTORS: dict[str, Tree] = {
    "ssd": {
        "type": Noted(OWN_TYPE_NOTE, OWN_TYPE),
        "depth_multiplier": Key("width"),
        "fpn": LEVELS | {"additional_layer_depth": Key("pyramid_channels")},
        "conv_hyperparams": {"batch_norm": {"scale": True, "decay": Key("batch_norm_momentum")}},
    },
    "ssd_fpn": {
        "type": lambda network: TYPES["ssd_fpn", network.backbone.name],
        "use_depthwise": Key("pyramid.depthwise"),
        "fpn": PYRAMID,
        **BACKBONE,
    },
    "ssd_multibox": {
        "type": lambda network: TYPES["ssd_multibox", network.backbone.name],
        "num_layers": Key("num_maps"),
        "use_depthwise": Key("depthwise_maps"),
        **BACKBONE,
    },
}
RATIOS = keys("anchors", "aspect_ratios")
LEVEL_SCALE = LEVELS | {"anchor_scale": Key("anchors.scale")}
SAME_OF_ANCHORS = ("min_scale", "max_scale", "interpolated_scale_aspect_ratio", "reduce_boxes_in_lowest_layer")
ANCHORS: dict[str, Tree] = {
    "ssd": {LEVEL_ANCHORS: LEVEL_SCALE | keys("anchors", scales_per_octave="octave_steps") | RATIOS},
    "ssd_fpn": {LEVEL_ANCHORS: LEVEL_SCALE | keys("anchors", "scales_per_octave") | RATIOS},
    "ssd_multibox": {MAP_ANCHORS: {"num_layers": Key("num_maps")} | keys("anchors", *SAME_OF_ANCHORS) | RATIOS},
}
HEAD: Tree = {
    **keys("predictor", num_layers_before_predictor="layers_before", kernel_size="kernel"),
    **keys("predictor", class_prediction_bias_init="class_bias", use_depthwise="depthwise"),
}
HEAD_DEPTHS = {
    MAP_HEADS: keys("predictor", "min_depth", "max_depth"),
    SHARED_HEADS: keys("predictor", "depth", share_prediction_tower="share_tower"),
}
WHOLE_HEAD: Tree = {
    "conv_hyperparams": lambda network: fill(CONVOLUTIONS, network.predictor_convolutions),
    **HEAD,
    "box_code_size": 4,
    "use_dropout": lambda network: network.predictor.dropout > 0,
    "dropout_keep_probability": _keep_share,
}
OWN_HEAD: Tree = {
    "depth": lambda network: network.pyramid_channels,
    "num_layers_before_predictor": Key("head_convolutions"),
    "kernel_size": 3,
    "share_prediction_tower": True,
    "class_prediction_bias_init": -4.595,  # a score of 0.01
}
HEADS: dict[str, Tree] = {
    "ssd": {SHARED_HEADS: OWN_HEAD},
    "ssd_fpn": {SHARED_HEADS: HEAD_DEPTHS[SHARED_HEADS] | WHOLE_HEAD},
    "ssd_multibox": {MAP_HEADS: HEAD_DEPTHS[MAP_HEADS] | WHOLE_HEAD},
}
MATCHER: Tree = {
    "matched_threshold": Key("loss.matched_from"),
    "unmatched_threshold": lambda network: (
        network.loss.matched_from if network.loss.background_below is None else network.loss.background_below
    ),
    "ignore_thresholds": False,
    "negatives_lower_than_unmatched": True,
    "force_match_for_each_row": Key("loss.match_every_box"),
}
FOCAL = keys("loss", alpha="focal_alpha", gamma="focal_gamma")
MINING: Tree = {
    **keys("mining", num_hard_examples="max_examples", iou_threshold="max_overlap"),
    **keys("mining", "max_negatives_per_positive", "min_negatives_per_image"),
    "loss_type": Key("mining.ranked_by", {"both": "BOTH", "classes": "CLASSIFICATION", "boxes": "LOCALIZATION"}),
}
SUPPRESSION: Tree = {
    **keys("suppression", score_threshold="min_score", iou_threshold="max_overlap"),
    **keys("suppression", max_total_detections="max_detections"),
    "max_detections_per_class": lambda network: (
        network.suppression.max_detections_per_class or network.suppression.max_detections
    ),
}
LETTERBOX_NOTE = "That API places an image at the top left of the padding; bakeoff places it in the middle."


def _describe_resizer(network: SsdDetector) -> Tree:
    size = network.input_size
    if network.fit != LETTERBOX:
        return {"fixed_shape_resizer": {"height": size, "width": size}}
    padding: Tree = {"pad_to_max_dimension": True, "per_channel_pad_value": [GREY] * 3}
    letterbox = Noted(LETTERBOX_NOTE, {"min_dimension": size, "max_dimension": size} | padding)
    return {"keep_aspect_ratio_resizer": letterbox}


SSD: Tree = {
    "image_resizer": _describe_resizer,
    "feature_extractor": lambda network: fill(EXTRACTORS[KINDS[type(network)]], network),
    "box_coder": lambda network: {
        "faster_rcnn_box_coder": dict(zip(BOX_CODER_SCALES, network.box_scales, strict=True))
    },
    "matcher": lambda network: {"argmax_matcher": fill(MATCHER, network)},
    "similarity_calculator": {"iou_similarity": {}},
    "anchor_generator": lambda network: fill(ANCHORS[KINDS[type(network)]], network),
    "box_predictor": lambda network: fill(HEADS[KINDS[type(network)]], network),
    "encode_background_as_zeros": lambda network: (
        network.loss.scores == "sigmoid" and not network.loss.background_is_class
    ),
    "add_background_class": lambda network: None if network.loss.has_background else False,
    **keys("loss", negative_class_weight="background_weight", normalize_loss_by_num_matches="divide_by_matches"),
    **keys("loss", normalize_loc_loss_by_codesize="divide_boxes_by_code_size"),
    "loss": {
        "classification_loss": _describe_class_loss,
        "localization_loss": {"weighted_smooth_l1": {"delta": Key("loss.smooth_l1_delta")}},
        "hard_example_miner": lambda network: fill(MINING, network) if network.mining else None,
        **keys("loss", classification_weight="class_weight", localization_weight="box_weight"),
    },
    "post_processing": {
        "batch_non_max_suppression": SUPPRESSION,
        "score_converter": lambda network: network.loss.scores.upper(),
    },
    "freeze_batchnorm": False,
}


def is_known(network: object) -> TypeGuard[SsdDetector]:
    """Return whether that API has such a detector. A user's own class is none, even if it builds on one of these."""
    return type(network) in KINDS


def describe_model(network: SsdDetector, num_classes: int, *, count_background: bool) -> Tree:
    counted = "The number of labels: that API adds the background itself."
    if count_background:
        counted = "One more than labels (export.count_background): an output that nothing will use."
    return {"ssd": {"num_classes": Noted(counted, num_classes + count_background)} | fill(SSD, network)}
