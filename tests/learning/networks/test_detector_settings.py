from typing import Any

import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.detector_settings import Backbone, Convolutions, DetectionLoss, HardExamples, Suppression
from bakeoff.learning.networks.ssd_fpn import Pyramid, SharedBoxPredictor, SsdFpn
from bakeoff.learning.networks.ssd_multibox import BoxPredictor, SsdMultibox


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (DetectionLoss, {"focal_alpha": 1.5}, r"^focal_alpha: must be between 0 and 1, got 1\.5$"),
        (DetectionLoss, {"focal_gamma": -1.0}, r"^focal_gamma: must be 0 or more, got -1\.0$"),
        (DetectionLoss, {"smooth_l1_delta": 0.0}, r"^smooth_l1_delta: must be above 0, got 0\.0$"),
        (DetectionLoss, {"matched_from": 0.0}, r"^matched_from: must be between 0 and 1, got 0\.0$"),
        (DetectionLoss, {"matched_from": 1.0}, r"^matched_from: must be between 0 and 1, got 1\.0$"),
        (DetectionLoss, {"class_weight": -0.5}, r"^class_weight: must be 0 or more, got -0\.5$"),
        (DetectionLoss, {"box_weight": -0.5}, r"^box_weight: must be 0 or more, got -0\.5$"),
        (
            DetectionLoss,
            {"background_is_class": True},
            r"^background_is_class: must be false without background_logit, got True$",
        ),
        (DetectionLoss, {"background_weight": 1.5}, r"^background_weight: must be between 0 and 1, got 1\.5$"),
        (
            DetectionLoss,
            {"background_below": 0.6},
            r"^background_below: must be between 0 and matched_from \(0\.5\), or null, got 0\.6$",
        ),
        (HardExamples, {"max_overlap": 0.0}, r"^max_overlap: must be above 0, at most 1, got 0\.0$"),
        (HardExamples, {"max_examples": -1}, r"^max_examples: must be 0 or more, got -1$"),
        (HardExamples, {"max_negatives_per_positive": -1}, r"^max_negatives_per_positive: must be 0 or more, got -1$"),
        (HardExamples, {"min_negatives_per_image": -1}, r"^min_negatives_per_image: must be 0 or more, got -1$"),
        (Suppression, {"min_score": 1.0}, r"^min_score: must be at least 0 and under 1, got 1\.0$"),
        (Suppression, {"max_overlap": 0.0}, r"^max_overlap: must be above 0, at most 1, got 0\.0$"),
        (Suppression, {"max_detections": 0}, r"^max_detections: must be between 1 and 1000, got 0$"),
        (Suppression, {"max_detections": 1001}, r"^max_detections: must be between 1 and 1000, got 1001$"),
        (
            Suppression,
            {"max_detections_per_class": 0},
            r"^max_detections_per_class: must be between 1 and 1000, or null, got 0$",
        ),
        (Convolutions, {"initial_deviation": 0.0}, r"^initial_deviation: must be above 0, got 0\.0$"),
        (Convolutions, {"l2_weight": -1.0}, r"^l2_weight: must be 0 or more, got -1\.0$"),
        (Convolutions, {"batch_norm_momentum": 1.0}, r"^batch_norm_momentum: must be between 0 and 1, got 1\.0$"),
        (Convolutions, {"batch_norm_epsilon": 0.0}, r"^batch_norm_epsilon: must be above 0, got 0\.0$"),
        (Backbone, {"depth_multiplier": 0.0}, r"^depth_multiplier: must be above 0, at most 4, got 0\.0$"),
        (Backbone, {"min_depth": 0}, r"^min_depth: must be between 1 and 64, got 0$"),
        (BoxPredictor, {"kernel": 0}, r"^kernel: must be between 1 and 7, got 0$"),
        (BoxPredictor, {"depthwise": True}, r"^depthwise: must be false for kernel 1, got True$"),
        (BoxPredictor, {"layers_before": 9}, r"^layers_before: must be between 0 and 8, got 9$"),
        (BoxPredictor, {"min_depth": -1}, r"^min_depth: must be 0 or more, got -1$"),
        (BoxPredictor, {"min_depth": 8}, r"^max_depth: must be at least min_depth \(8\), got 0$"),
        (BoxPredictor, {"layers_before": 1}, r"^max_depth: must be above 0 where layers_before is, got 0$"),
        (BoxPredictor, {"dropout": 1.0}, r"^dropout: must be at least 0 and under 1, got 1\.0$"),
        (SsdMultibox, {"input_size": 32}, r"^input_size: must be 33 or more, got 32$"),
        (SsdMultibox, {"num_maps": 7}, r"^num_maps: must be between 2 and 6, got 7$"),
        (SsdMultibox, {"num_maps": 1}, r"^num_maps: must be between 2 and 6, got 1$"),
        (
            SsdMultibox,
            {"box_scales": (1.0, 2.0)},
            r"^box_scales: must be four numbers above 0: y, x, height, width, got \[1\.0, 2\.0\]$",
        ),
        (
            SsdMultibox,
            {"backbone": Backbone(name="resnet50")},
            r"^backbone\.name: must be one of mobilenet_v1, mobilenet_v2 here, got 'resnet50'$",
        ),
        (
            SsdMultibox,
            {"backbone": Backbone(name="mobilenet_v1", like="keras"), "input_size": 300},
            r"^input_size: must be a multiple of 32 for a mobilenet_v1 like that of keras, got 300$",
        ),
        (Pyramid, {"min_level": 1}, r"^min_level: must be between 2 and 5, got 1$"),
        (Pyramid, {"max_level": 4}, r"^max_level: must be between 5 and 9, got 4$"),
        (Pyramid, {"depth": 0}, r"^depth: must be between 1 and 1024, got 0$"),
        (SharedBoxPredictor, {"depth": 0}, r"^depth: must be between 1 and 1024, got 0$"),
        (SharedBoxPredictor, {"layers_before": -1}, r"^layers_before: must be between 0 and 8, got -1$"),
        (SharedBoxPredictor, {"kernel": 8}, r"^kernel: must be between 1 and 7, got 8$"),
        (SharedBoxPredictor, {"depthwise": True, "kernel": 1}, r"^depthwise: must be false for kernel 1, got True$"),
        (SharedBoxPredictor, {"dropout": -0.1}, r"^dropout: must be at least 0 and under 1, got -0\.1$"),
        (SsdFpn, {"input_size": 32}, r"^input_size: must be 33 or more, got 32$"),
        (
            SsdFpn,
            {"backbone": Backbone(name="resnet50"), "input_size": 128},
            r"^input_size: must be 129 or more, got 128$",
        ),
        (
            SsdFpn,
            {"input_size": 300},
            r"^input_size: must be a multiple of 32, so that the levels lie on each other, got 300$",
        ),
        (
            SsdFpn,
            {"backbone": Backbone(name="resnet50"), "pyramid": Pyramid(depthwise=True)},
            r"^pyramid\.depthwise: must be false for resnet50, got True$",
        ),
        (SsdFpn, {"box_scales": (1.0, 1.0, 0.0, 1.0)}, r"^box_scales: must be four numbers above 0"),
    ],
)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


@pytest.mark.parametrize(
    ("loss", "scores", "outputs"),
    [("sigmoid_focal", "sigmoid", 7), ("sigmoid", "sigmoid", 7), ("softmax", "softmax", 8)],
)
def test_softmax_has_a_number_for_the_background(loss: Any, scores: str, outputs: int) -> None:
    rule = DetectionLoss(classes=loss)
    assert (rule.scores, rule.outputs(7)) == (scores, outputs)


@pytest.mark.parametrize(("channels", "multiplier", "expected"), [(256, 1.0, 256), (256, 0.35, 89), (64, 0.1, 16)])
def test_added_channels_follow_the_multiplier_down_to_the_minimum(
    channels: int, multiplier: float, expected: int
) -> None:
    assert Backbone(depth_multiplier=multiplier).depth(channels) == expected
