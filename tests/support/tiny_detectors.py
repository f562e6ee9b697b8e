"""The Object Detection API's detectors, so small that tests can build and train them."""

from dataclasses import replace

from bakeoff.learning.networks.anchors import MultiboxAnchors, PyramidAnchors
from bakeoff.learning.networks.detector_settings import Backbone, Convolutions, DetectionLoss, HardExamples, Suppression
from bakeoff.learning.networks.ssd_fpn import Pyramid, SharedBoxPredictor, SsdFpn
from bakeoff.learning.networks.ssd_multibox import BoxPredictor, SsdMultibox
from bakeoff.learning.networks.yolox import Yolox

QUICK = Convolutions(initializer="truncated_normal", initial_deviation=0.1, l2_weight=0.0, batch_norm_momentum=0.9)
SURE = Suppression(min_score=0.3)
LITE = SsdFpn(
    input_size=64,
    backbone=Backbone(depth_multiplier=0.25, min_depth=8),
    pyramid=Pyramid(min_level=3, max_level=6, depth=96, depthwise=True),
    convolutions=QUICK,
    predictor=SharedBoxPredictor(depth=24, layers_before=1, depthwise=True, share_tower=True),
    predictor_convolutions=QUICK,
    anchors=PyramidAnchors(scale=2.0, aspect_ratios=(1.0,), scales_per_octave=2),
    suppression=SURE,
)
FULL = replace(
    LITE,
    backbone=Backbone(name="mobilenet_v1", depth_multiplier=0.25, min_depth=8),
    pyramid=Pyramid(min_level=3, max_level=5, depth=96),
    predictor=SharedBoxPredictor(depth=24, layers_before=1, dropout=0.1),
)
ON_RESNET = replace(
    FULL, input_size=160, backbone=Backbone(name="resnet50", depth_multiplier=0.125, min_depth=8), pyramid=Pyramid()
)
MULTIBOX = SsdMultibox(
    input_size=96,
    backbone=Backbone(depth_multiplier=0.25, min_depth=8),
    num_maps=3,
    convolutions=QUICK,
    predictor_convolutions=replace(QUICK, initial_deviation=0.01),
    anchors=MultiboxAnchors(min_scale=0.25, max_scale=0.6, aspect_ratios=(1.0,)),
    suppression=SURE,
)
YOLOX = Yolox(input_size=64, width=0.125, depth=0.1, activation="relu", suppression=SURE)
MULTIBOX_BY_SOFTMAX = replace(
    MULTIBOX,
    backbone=Backbone(name="mobilenet_v1", depth_multiplier=0.25, min_depth=8),
    depthwise_maps=True,
    predictor=BoxPredictor(kernel=3, depthwise=True, layers_before=1, min_depth=8, max_depth=24, dropout=0.1),
    loss=DetectionLoss(classes="softmax"),
    mining=HardExamples(),
)
