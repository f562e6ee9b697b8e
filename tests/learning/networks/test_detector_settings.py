from typing import Any

import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks.detector_settings import Backbone, Convolutions, DetectionLoss, HardExamples, Suppression
from bakeoff.learning.networks.ssd_fpn import Pyramid, SharedBoxPredictor, SsdFpn
from bakeoff.learning.networks.ssd_multibox import BoxPredictor, SsdMultibox


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (DetectionLoss, {"focal_alpha": 1.5}, r"^focal_alpha:\D+0\D+1\D+1\.5$"),
        (DetectionLoss, {"focal_gamma": -1.0}, r"^focal_gamma:\D+0\D+-1\.0$"),
        (DetectionLoss, {"smooth_l1_delta": 0.0}, r"^smooth_l1_delta:\D+0\D+0\.0$"),
        (DetectionLoss, {"matched_from": 0.0}, r"^matched_from:\D+0\D+1\D+0\.0$"),
        (DetectionLoss, {"matched_from": 1.0}, r"^matched_from:\D+0\D+1\D+1\.0$"),
        (DetectionLoss, {"class_weight": -0.5}, r"^class_weight:\D+0\D+-0\.5$"),
        (DetectionLoss, {"box_weight": -0.5}, r"^box_weight:\D+0\D+-0\.5$"),
        (
            DetectionLoss,
            {"background_is_class": True},
            r"^background_is_class:\D+false\D+background_logit\D+True$",
        ),
        (DetectionLoss, {"background_weight": 1.5}, r"^background_weight:\D+0\D+1\D+1\.5$"),
        (
            DetectionLoss,
            {"background_below": 0.6},
            r"^background_below:\D+0\D+matched_from\D+0\.5\D+null\D+0\.6$",
        ),
        (HardExamples, {"max_overlap": 0.0}, r"^max_overlap:\D+0\D+1\D+0\.0$"),
        (HardExamples, {"max_examples": -1}, r"^max_examples:\D+0\D+-1$"),
        (HardExamples, {"max_negatives_per_positive": -1}, r"^max_negatives_per_positive:\D+0\D+-1$"),
        (HardExamples, {"min_negatives_per_image": -1}, r"^min_negatives_per_image:\D+0\D+-1$"),
        (Suppression, {"min_score": 1.0}, r"^min_score:\D+0\D+1\D+1\.0$"),
        (Suppression, {"max_overlap": 0.0}, r"^max_overlap:\D+0\D+1\D+0\.0$"),
        (Suppression, {"max_detections": 0}, r"^max_detections:\D+1\D+1000\D+0$"),
        (Suppression, {"max_detections": 1001}, r"^max_detections:\D+1\D+1000\D+1001$"),
        (
            Suppression,
            {"max_detections_per_class": 0},
            r"^max_detections_per_class:\D+1\D+1000\D+null\D+0$",
        ),
        (Convolutions, {"initial_deviation": 0.0}, r"^initial_deviation:\D+0\D+0\.0$"),
        (Convolutions, {"l2_weight": -1.0}, r"^l2_weight:\D+0\D+-1\.0$"),
        (Convolutions, {"batch_norm_momentum": 1.0}, r"^batch_norm_momentum:\D+0\D+1\D+1\.0$"),
        (Convolutions, {"batch_norm_epsilon": 0.0}, r"^batch_norm_epsilon:\D+0\D+0\.0$"),
        (Backbone, {"depth_multiplier": 0.0}, r"^depth_multiplier:\D+0\D+4\D+0\.0$"),
        (Backbone, {"min_depth": 0}, r"^min_depth:\D+1\D+64\D+0$"),
        (BoxPredictor, {"kernel": 0}, r"^kernel:\D+1\D+7\D+0$"),
        (BoxPredictor, {"depthwise": True}, r"^depthwise: .*false.*kernel.*\b1\b.*True$"),
        (BoxPredictor, {"layers_before": 9}, r"^layers_before:\D+0\D+8\D+9$"),
        (BoxPredictor, {"min_depth": -1}, r"^min_depth:\D+0\D+-1$"),
        (BoxPredictor, {"min_depth": 8}, r"^max_depth:\D+min_depth\D+8\D+0$"),
        (BoxPredictor, {"layers_before": 1}, r"^max_depth:\D+0\D+layers_before\D+0$"),
        (BoxPredictor, {"dropout": 1.0}, r"^dropout:\D+0\D+1\D+1\.0$"),
        (SsdMultibox, {"input_size": 32}, r"^input_size:\D+33\D+32$"),
        (SsdMultibox, {"num_maps": 7}, r"^num_maps:\D+2\D+6\D+7$"),
        (SsdMultibox, {"num_maps": 1}, r"^num_maps:\D+2\D+6\D+1$"),
        (
            SsdMultibox,
            {"box_scales": (1.0, 2.0)},
            r"^box_scales:\D+four\D+0\D+y, x, height, width\D+\[1\.0, 2\.0\]$",
        ),
        (
            SsdMultibox,
            {"backbone": Backbone(name="resnet50")},
            r"^backbone\.name:\D+mobilenet_v1\D+mobilenet_v2\D+'resnet50'$",
        ),
        (
            SsdMultibox,
            {"backbone": Backbone(name="mobilenet_v1", like="keras"), "input_size": 300},
            r"^input_size:\D+32\D+mobilenet_v1\D+keras\D+300$",
        ),
        (Pyramid, {"min_level": 1}, r"^min_level:\D+2\D+5\D+1$"),
        (Pyramid, {"max_level": 4}, r"^max_level:\D+5\D+9\D+4$"),
        (Pyramid, {"depth": 0}, r"^depth:\D+1\D+1024\D+0$"),
        (SharedBoxPredictor, {"depth": 0}, r"^depth:\D+1\D+1024\D+0$"),
        (SharedBoxPredictor, {"layers_before": -1}, r"^layers_before:\D+0\D+8\D+-1$"),
        (SharedBoxPredictor, {"kernel": 8}, r"^kernel:\D+1\D+7\D+8$"),
        (SharedBoxPredictor, {"depthwise": True, "kernel": 1}, r"^depthwise: .*false.*kernel.*\b1\b.*True$"),
        (SharedBoxPredictor, {"dropout": -0.1}, r"^dropout:\D+0\D+1\D+-0\.1$"),
        (SsdFpn, {"input_size": 32}, r"^input_size:\D+33\D+32$"),
        (
            SsdFpn,
            {"backbone": Backbone(name="resnet50"), "input_size": 128},
            r"^input_size:\D+129\D+128$",
        ),
        (
            SsdFpn,
            {"input_size": 300},
            r"^input_size:\D+32\D+300$",
        ),
        (
            SsdFpn,
            {"backbone": Backbone(name="resnet50"), "pyramid": Pyramid(depthwise=True)},
            r"^pyramid\.depthwise:\D+false\D+resnet50\D+True$",
        ),
        (SsdFpn, {"box_scales": (1.0, 1.0, 0.0, 1.0)}, r"^box_scales:\D+four\D+0\D+\[1\.0, 1\.0, 0\.0, 1\.0\]$"),
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
