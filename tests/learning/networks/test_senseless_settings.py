"""Settings of networks that make no sense, and the rule that each refusal names."""

from typing import Any

import pytest

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.anchors import Anchors, MultiboxAnchors, PyramidAnchors
from bakeoff.learning.networks.applications import InceptionV3
from bakeoff.learning.networks.cnn import ClipCnn
from bakeoff.learning.networks.detector_settings import Backbone, Convolutions, DetectionLoss, HardExamples, Suppression
from bakeoff.learning.networks.point_detector import Assignment, PointDetector, PointLoss
from bakeoff.learning.networks.s3dg import S3dG
from bakeoff.learning.networks.set_detector import Denoising, SetDetector, SetLoss, SetMatching
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.networks.ssd_fpn import Pyramid, SharedBoxPredictor, SsdFpn
from bakeoff.learning.networks.ssd_multibox import BoxPredictor, SsdMultibox
from bakeoff.learning.networks.yolox import SimOta, Yolox, YoloxLoss

OF_EVERY_NETWORK = [
    ("width", 0.0, r"0\D+4\D+0\.0"),
    ("width", 4.5, r"0\D+4\D+4\.5"),
    ("dropout", 1.0, r"0\D+1\D+1\.0"),
    ("dropout", -0.1, r"0\D+1\D+-0\.1"),
    ("batch_norm_momentum", 0.0, r"0\D+1\D+0\.0"),
    ("batch_norm_momentum", 1.0, r"0\D+1\D+1\.0"),
    ("label_smoothing", 1.0, r"0\D+1\D+1\.0"),
    ("label_smoothing", -0.1, r"0\D+1\D+-0\.1"),
]
RESNET, KERAS_V1 = Backbone(name="resnet50"), Backbone(name="mobilenet_v1", like="keras")
SENSELESS: list[tuple[type, dict[str, Any], str]] = [
    (Ssd, {"input_size": 0}, r"^input_size:\D+32\D+0$"),
    (Ssd, {"input_size": 100}, r"^input_size:\D+32\D+100$"),
    (Ssd, {"pyramid_channels": 7}, r"^pyramid_channels:\D+8\D+1024\D+7$"),
    (Ssd, {"head_convolutions": -1}, r"^head_convolutions:\D+0\D+8\D+-1$"),
    (Ssd, {"head_convolutions": 9}, r"^head_convolutions:\D+0\D+8\D+9$"),
    (PointDetector, {"input_size": 0}, r"^input_size:\D+32\D+0$"),
    (PointDetector, {"input_size": 100}, r"^input_size:\D+32\D+100$"),
    (PointDetector, {"depth": 0}, r"^depth:\D+1\D+12\D+0$"),
    (PointDetector, {"head_convolutions": 9}, r"^head_convolutions:\D+0\D+8\D+9$"),
    (PointDetector, {"bins": 1}, r"^bins:\D+2\D+64\D+1$"),
    (Assignment, {"points": 0}, r"^points:\D+1\D+1000\D+0$"),
    (Assignment, {"overlap_power": -1.0}, r"^overlap_power:\D+0\D+20\D+-1\.0$"),
    (PointLoss, {"focal_gamma": 21.0}, r"^focal_gamma:\D+0\D+20\D+21\.0$"),
    (PointLoss, {"overlap_weight": -1.0}, r"^overlap_weight:\D+0\D+1,000\D+-1\.0$"),
    (Yolox, {"input_size": 100}, r"^input_size:\D+32\D+100$"),
    (Yolox, {"depth": 0.0}, r"^depth:\D+0\.01\D+4\D+0\.0$"),
    (SimOta, {"radius": 0.1}, r"^radius:\D+0\.5\D+100\D+0\.1$"),
    (SimOta, {"points": 0}, r"^points:\D+1\D+1000\D+0$"),
    (YoloxLoss, {"box_weight": -1.0}, r"^box_weight:\D+0\D+1000\D+-1\.0$"),
    (SetDetector, {"input_size": 100}, r"^input_size:\D+32\D+100$"),
    (SetDetector, {"queries": 0}, r"^queries:\D+1\D+1000\D+0$"),
    (SetDetector, {"queries": 81, "input_size": 128}, r"^queries:\D+1\D+80\D+81$"),
    (SetDetector, {"levels": 4}, r"^levels:\D+2\D+3\D+hybrid\D+4$"),
    (SetDetector, {"levels": 3}, r"^points:\D+3\D+1\D+64\D+\[6, 6\]$"),
    (SetDetector, {"points": (0, 6)}, r"^points:\D+2\D+1\D+64\D+\[0, 6\]$"),
    (SetDetector, {"channels": 100}, r"^channels:\D+8\D+100$"),
    (SetDetector, {"backbone": "atto"}, r"^backbone: .*lite.*b0.*hybrid.*'atto'$"),
    (SetDetector, {"encoder": "lite", "backbone": "atto"}, r"^version: .*deim_v2.*lite.*'d_fine'$"),
    (SetDetector, {"encoder": "lite", "version": "deim_v2"}, r"^backbone: .*lite.*b0.*hybrid.*'b0'$"),
    (SetMatching, {"box_weight": -1.0}, r"^box_weight:\D+0\D+1000\D+-1\.0$"),
    (SetMatching, dict.fromkeys(("class_weight", "box_weight", "overlap_weight"), 0.0), r"^class_weight:\D+0\D+0$"),
    (SetMatching, {"overlap_power": 21.0}, r"^overlap_power:\D+0\D+20\D+null\D+21\.0$"),
    (SetLoss, {"gamma": 21.0}, r"^gamma:\D+0\D+20\D+21\.0$"),
    (Denoising, {"queries": -1}, r"^queries:\D+0\D+1000\D+-1$"),
    (Denoising, {"class_noise": 1.5}, r"^class_noise:\D+0\D+1\D+1\.5$"),
    (S3dG, {"frames": 0}, r"^frames:\D+1\D+512\D+0$"),
    (S3dG, {"frames": 513}, r"^frames:\D+1\D+512\D+513$"),
    (S3dG, {"depth_multiplier": 0.0}, r"^depth_multiplier:\D+0\D+4\D+0\.0$"),
    (S3dG, {"min_depth": 0}, r"^min_depth:\D+1\D+64\D+0$"),
    (S3dG, {"first_temporal_kernel": 2}, r"^first_temporal_kernel:\D+1\D+3\D+5\D+7\D+2$"),
    (S3dG, {"batch_norm_epsilon": 0.0}, r"^batch_norm_epsilon:\D+0\D+1\D+0\.0$"),
    (InceptionV3, {"auxiliary_weight": -0.1}, r"^auxiliary_weight:\D+0\D+1\D+-0\.1$"),
    (InceptionV3, {"auxiliary_weight": 1.1}, r"^auxiliary_weight:\D+0\D+1\D+1\.1$"),
    (DetectionLoss, {"focal_alpha": 1.5}, r"^focal_alpha:\D+0\D+1\D+1\.5$"),
    (DetectionLoss, {"focal_gamma": -1.0}, r"^focal_gamma:\D+0\D+-1\.0$"),
    (DetectionLoss, {"smooth_l1_delta": 0.0}, r"^smooth_l1_delta:\D+0\D+0\.0$"),
    (DetectionLoss, {"matched_from": 0.0}, r"^matched_from:\D+0\D+1\D+0\.0$"),
    (DetectionLoss, {"matched_from": 1.0}, r"^matched_from:\D+0\D+1\D+1\.0$"),
    (DetectionLoss, {"class_weight": -0.5}, r"^class_weight:\D+0\D+-0\.5$"),
    (DetectionLoss, {"box_weight": -0.5}, r"^box_weight:\D+0\D+-0\.5$"),
    (DetectionLoss, {"background_is_class": True}, r"^background_is_class:\D+false\D+background_logit\D+True$"),
    (DetectionLoss, {"background_weight": 1.5}, r"^background_weight:\D+0\D+1\D+1\.5$"),
    (DetectionLoss, {"background_below": 0.6}, r"^background_below:\D+0\D+matched_from\D+0\.5\D+null\D+0\.6$"),
    (HardExamples, {"max_overlap": 0.0}, r"^max_overlap:\D+0\D+1\D+0\.0$"),
    (HardExamples, {"max_examples": -1}, r"^max_examples:\D+0\D+-1$"),
    (HardExamples, {"max_negatives_per_positive": -1}, r"^max_negatives_per_positive:\D+0\D+-1$"),
    (HardExamples, {"min_negatives_per_image": -1}, r"^min_negatives_per_image:\D+0\D+-1$"),
    (Suppression, {"min_score": 1.0}, r"^min_score:\D+0\D+1\D+1\.0$"),
    (Suppression, {"max_overlap": 0.0}, r"^max_overlap:\D+0\D+1\D+0\.0$"),
    (Suppression, {"max_detections": 0}, r"^max_detections:\D+1\D+1000\D+0$"),
    (Suppression, {"max_detections": 1001}, r"^max_detections:\D+1\D+1000\D+1001$"),
    (Suppression, {"max_detections_per_class": 0}, r"^max_detections_per_class:\D+1\D+1000\D+null\D+0$"),
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
    (SsdMultibox, {"box_scales": (1.0, 2.0)}, r"^box_scales:\D+four\D+0\D+y, x, height, width\D+\[1\.0, 2\.0\]$"),
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
    (SsdFpn, {"backbone": Backbone(name="resnet50"), "input_size": 128}, r"^input_size:\D+129\D+128$"),
    (SsdFpn, {"input_size": 300}, r"^input_size:\D+32\D+300$"),
    (
        SsdFpn,
        {"backbone": Backbone(name="resnet50"), "pyramid": Pyramid(depthwise=True)},
        r"^pyramid\.depthwise:\D+false\D+resnet50\D+True$",
    ),
    (SsdFpn, {"box_scales": (1.0, 1.0, 0.0, 1.0)}, r"^box_scales:\D+four\D+0\D+\[1\.0, 1\.0, 0\.0, 1\.0\]$"),
    (Anchors, {"scale": 0.0}, r"^scale:\D+0\D+0\.0$"),
    (Anchors, {"octave_steps": 0}, r"^octave_steps:\D+1\D+8\D+0$"),
    (Anchors, {"octave_steps": 9}, r"^octave_steps:\D+1\D+8\D+9$"),
    (Anchors, {"aspect_ratios": ()}, r"^aspect_ratios:\D+0\D+\[\]$"),
    (Anchors, {"aspect_ratios": (1.0, 0.0)}, r"^aspect_ratios:\D+0\D+\[1\.0, 0\.0\]$"),
    (MultiboxAnchors, {"min_scale": 0.0}, r"^min_scale:\D+0\D+1\D+0\.0$"),
    (MultiboxAnchors, {"max_scale": 0.1}, r"^max_scale:\D+min_scale\D+0\.2\D+1\D+0\.1$"),
    (MultiboxAnchors, {"interpolated_scale_aspect_ratio": -1.0}, r"^interpolated_scale_aspect_ratio:\D+0\D+-1\.0$"),
    (MultiboxAnchors, {"aspect_ratios": ()}, r"^aspect_ratios:\D+0\D+\[\]$"),
    (PyramidAnchors, {"scale": 0.0}, r"^scale:\D+0\D+0\.0$"),
    (PyramidAnchors, {"scales_per_octave": 0}, r"^scales_per_octave:\D+1\D+8\D+0$"),
    (PyramidAnchors, {"aspect_ratios": (1.0, -1.0)}, r"^aspect_ratios:\D+0\D+\[1\.0, -1\.0\]$"),
    (ClipCnn, {"frames": 1}, r"^frames:\D+2\D+512\D+1$"),
    (ClipCnn, {"frames": 513}, r"^frames:\D+2\D+512\D+513$"),
]


@pytest.mark.parametrize(
    ("kind", "field", "value", "rule"),
    [(kind, *row) for kind in NETWORKS.values() for row in OF_EVERY_NETWORK if row[0] in kind.__annotations__],
)
def test_a_senseless_setting_of_every_network_is_refused(kind: type, field: str, value: float, rule: str) -> None:
    with pytest.raises(OutOfRange, match=rf"^{field}:\D+{rule}$"):
        kind(**{field: value})


@pytest.mark.parametrize(
    "name", ["cnn", "clip_cnn", "mobilenet_v2", "mobilenet_v3", "efficientnet_v2_b0", "inception_v3", "s3dg"]
)
def test_an_input_below_the_smallest_is_refused(name: str) -> None:
    least = {"cnn": 16, "clip_cnn": 16, "inception_v3": 75}.get(name, 32)
    with pytest.raises(OutOfRange, match=rf"^input_size:\D+{least}\D+{least - 1}$"):
        NETWORKS[name](input_size=least - 1)


@pytest.mark.parametrize(("kind", "fields", "message"), SENSELESS)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)
