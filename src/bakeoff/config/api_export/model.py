"""A detector -> `model { ssd { … } }`.

The tables hold the names that differ, `ours: theirs`. The importer reads them, too.
"""

from typing import TypeAlias, TypeGuard, get_args

from bakeoff.config.api_export.messages import Noted, Tree, pick, round_off
from bakeoff.learning.networks.detector_settings import Convolutions, DetectionLoss, HardExamples, Suppression
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.ssd_fpn import SsdFpn
from bakeoff.learning.networks.ssd_multibox import SsdMultibox

SsdDetector: TypeAlias = Ssd | SsdFpn | SsdMultibox

OWN_TYPE = "bakeoff_ssd"
PYRAMIDS = {  # that API's names under TensorFlow 2; under TensorFlow 1 they lack `_keras`
    "mobilenet_v1": "ssd_mobilenet_v1_fpn_keras",
    "mobilenet_v2": "ssd_mobilenet_v2_fpn_keras",
    "resnet50": "ssd_resnet50_v1_fpn_keras",
}
MAPS = {"mobilenet_v1": "ssd_mobilenet_v1_keras", "mobilenet_v2": "ssd_mobilenet_v2_keras"}
BACKBONE = {key: key for key in ("depth_multiplier", "min_depth")} | {
    "override_hyperparameters": "override_base_feature_extractor_hyperparams"
}
PYRAMID = {"min_level": "min_level", "max_level": "max_level", "depth": "additional_layer_depth"}
ACTIVATIONS = {"relu6": "RELU_6", "relu": "RELU"}
BATCH_NORM = {"batch_norm_momentum": "decay", "batch_norm_epsilon": "epsilon"}
OWN_HEADS, SHARED_HEADS = "convolutional_box_predictor", "weight_shared_convolutional_box_predictor"
HEADS = {
    "layers_before": "num_layers_before_predictor",
    "kernel": "kernel_size",
    "class_bias": "class_prediction_bias_init",
    "depthwise": "use_depthwise",
}
OWN_DEPTH = {"min_depth": "min_depth", "max_depth": "max_depth"}
SHARED_DEPTH = {"depth": "depth", "share_tower": "share_prediction_tower"}
LEVEL_ANCHORS, MAP_ANCHORS = "multiscale_anchor_generator", "ssd_anchor_generator"
SAME_OF_ANCHORS = ("min_scale", "max_scale", "interpolated_scale_aspect_ratio", "reduce_boxes_in_lowest_layer")
MULTIBOX_ANCHORS = {key: key for key in SAME_OF_ANCHORS}
BOX_CODER_SCALES = ("y_scale", "x_scale", "height_scale", "width_scale")
CLASS_LOSSES = {"sigmoid_focal": "weighted_sigmoid_focal", "sigmoid": "weighted_sigmoid", "softmax": "weighted_softmax"}
FOCAL = {"focal_alpha": "alpha", "focal_gamma": "gamma"}
LOSS_WEIGHTS = {"class_weight": "classification_weight", "box_weight": "localization_weight"}
LOSS_BESIDE = {  # fields of `ssd`, not of its `loss`
    "background_weight": "negative_class_weight",
    "divide_by_matches": "normalize_loss_by_num_matches",
    "divide_boxes_by_code_size": "normalize_loc_loss_by_codesize",
}
MINING = {
    "max_examples": "num_hard_examples",
    "max_overlap": "iou_threshold",
    "max_negatives_per_positive": "max_negatives_per_positive",
    "min_negatives_per_image": "min_negatives_per_image",
}
RANKED_BY = {"both": "BOTH", "classes": "CLASSIFICATION", "boxes": "LOCALIZATION"}
SUPPRESSION = {"min_score": "score_threshold", "max_overlap": "iou_threshold", "max_detections": "max_total_detections"}


def is_known(network: object) -> TypeGuard[SsdDetector]:
    """Return whether that API has such a detector. A user's own class is none, even if it builds on one of these."""
    return type(network) in get_args(SsdDetector)


def describe_model(network: SsdDetector, num_classes: int, *, count_background: bool) -> Tree:
    counted = "The number of labels: that API adds the background itself."
    if count_background:
        counted = "One more than labels (export.count_background): an output that nothing will use."
    size, rule = network.input_size, network.loss
    ssd = {
        "num_classes": Noted(counted, num_classes + count_background),
        "image_resizer": {"fixed_shape_resizer": {"height": size, "width": size}},
        "feature_extractor": _describe_extractor(network),
        "box_coder": {"faster_rcnn_box_coder": dict(zip(BOX_CODER_SCALES, network.box_scales, strict=True))},
        "matcher": {"argmax_matcher": _describe_matcher(rule)},
        "similarity_calculator": {"iou_similarity": {}},
        "anchor_generator": _describe_anchors(network),
        "box_predictor": _describe_heads(network),
        "encode_background_as_zeros": rule.scores == "sigmoid" and not rule.background_is_class,
        "add_background_class": None if rule.has_background else False,
        **pick(rule, LOSS_BESIDE),
        "loss": _describe_loss(rule, network.mining),
        "post_processing": {
            "batch_non_max_suppression": _describe_suppression(network.suppression),
            "score_converter": rule.scores.upper(),
        },
        "freeze_batchnorm": False,
    }
    return {"ssd": ssd}


def _describe_extractor(network: SsdDetector) -> Tree:
    if isinstance(network, Ssd):
        return _describe_own_extractor(network)
    if isinstance(network, SsdMultibox):
        kind: Tree = {
            "type": MAPS[network.backbone.name],
            "num_layers": network.num_maps,
            "use_depthwise": network.depthwise_maps,
        }
    else:
        kind = {
            "type": PYRAMIDS[network.backbone.name],
            "use_depthwise": network.pyramid.depthwise,
            "fpn": pick(network.pyramid, PYRAMID),
        }
    return kind | {"conv_hyperparams": _describe_convolutions(network.convolutions)} | pick(network.backbone, BACKBONE)


def _describe_own_extractor(network: Ssd) -> Tree:
    note = (
        f"This network is bakeoff's own: that API has to have a feature extractor registered as {OWN_TYPE!r}. "
        "Every other detection option of conf/model is one that the API knows."
    )
    return {
        "type": Noted(note, OWN_TYPE),
        "depth_multiplier": network.width,
        "fpn": _describe_levels(network) | {"additional_layer_depth": network.pyramid_channels},
        "conv_hyperparams": {"batch_norm": {"scale": True, "decay": network.batch_norm_momentum}},
    }


def _describe_convolutions(convolutions: Convolutions) -> Tree:
    """Return the settings of convolutions. The weight penalty is the same number in both: half of it times the sum of
    squares.
    """
    start = {"stddev": convolutions.initial_deviation, "mean": 0.0}
    return {
        "activation": ACTIVATIONS[convolutions.activation],
        "regularizer": {"l2_regularizer": {"weight": convolutions.l2_weight}},
        "initializer": {f"{convolutions.initializer}_initializer": start},
        "batch_norm": {"scale": True} | pick(convolutions, BATCH_NORM),
    }


def _describe_levels(network: Ssd | SsdFpn) -> Tree:
    """Describe the pyramid's levels; one of stride 8 is level 3."""
    levels = [stride.bit_length() - 1 for stride in network.strides]
    return {"min_level": min(levels), "max_level": max(levels)}


def _describe_anchors(network: SsdDetector) -> Tree:
    ratios = {"aspect_ratios": network.anchors.aspect_ratios}
    if isinstance(network, SsdMultibox):
        return {MAP_ANCHORS: {"num_layers": network.num_maps} | pick(network.anchors, MULTIBOX_ANCHORS) | ratios}
    per_octave = network.anchors.octave_steps if isinstance(network, Ssd) else network.anchors.scales_per_octave
    scales = {"anchor_scale": network.anchors.scale, "scales_per_octave": per_octave}
    return {LEVEL_ANCHORS: _describe_levels(network) | scales | ratios}


def _describe_heads(network: SsdDetector) -> Tree:
    if isinstance(network, Ssd):
        heads: Tree = {
            "depth": network.pyramid_channels,
            "num_layers_before_predictor": network.head_convolutions,
            "kernel_size": 3,
            "share_prediction_tower": True,
            "class_prediction_bias_init": -4.595,  # a score of 0.01
        }
        return {SHARED_HEADS: heads}
    predictor = network.predictor
    heads = pick(predictor, SHARED_DEPTH if isinstance(network, SsdFpn) else OWN_DEPTH) | {
        "conv_hyperparams": _describe_convolutions(network.predictor_convolutions),
        **pick(predictor, HEADS),
        "box_code_size": 4,
        "use_dropout": predictor.dropout > 0,
        "dropout_keep_probability": round_off(1 - predictor.dropout) if predictor.dropout else None,
    }
    return {SHARED_HEADS if isinstance(network, SsdFpn) else OWN_HEADS: heads}


def _describe_matcher(rule: DetectionLoss) -> Tree:
    below = rule.matched_from if rule.background_below is None else rule.background_below
    return {
        "matched_threshold": rule.matched_from,
        "unmatched_threshold": below,
        "ignore_thresholds": False,
        "negatives_lower_than_unmatched": True,
        "force_match_for_each_row": rule.match_every_box,
    }


def _describe_loss(rule: DetectionLoss, mining: HardExamples | None) -> Tree:
    focal = pick(rule, FOCAL) if rule.classes == "sigmoid_focal" else {}
    return {
        "classification_loss": {CLASS_LOSSES[rule.classes]: focal},
        "localization_loss": {"weighted_smooth_l1": {"delta": rule.smooth_l1_delta}},
        "hard_example_miner": pick(mining, MINING) | {"loss_type": RANKED_BY[mining.ranked_by]} if mining else None,
        **pick(rule, LOSS_WEIGHTS),
    }


def _describe_suppression(suppression: Suppression) -> Tree:
    per_class = suppression.max_detections_per_class or suppression.max_detections
    return pick(suppression, SUPPRESSION) | {"max_detections_per_class": per_class}
