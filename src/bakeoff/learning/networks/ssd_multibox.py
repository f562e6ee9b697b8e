"""The plain SSD (Liu et al., arXiv:1512.02325): maps of falling size, each with heads of its own."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bakeoff.foundation.errors import require, require_at_most, require_between
from bakeoff.learning.networks.anchors import MultiboxAnchors
from bakeoff.learning.networks.detector_settings import (
    BOX_SCALES,
    MULTIBOX_LAYERS,
    VARIABLES,
    Backbone,
    BackboneDetector,
    Convolutions,
    DetectionLoss,
    HardExamples,
    Suppression,
    require_box_scales,
)
from bakeoff.learning.networks.network import MOST_PIXELS, Fit, Parts, Resizing
from bakeoff.learning.networks.tiles import Tiles

if TYPE_CHECKING:
    import keras
    import numpy as np

STRIDES = (16, 32, 64, 128, 256, 512)
ADDED_DEPTHS = (512, 256, 256, 128)  # of the maps after the backbone's two


@dataclass(frozen=True)
class BoxPredictor:
    """The heads of one map, optionally behind 1x1 convolutions that both share."""

    kernel: int = 1
    depthwise: bool = False
    layers_before: int = 0
    min_depth: int = 0  # of the layers before; a map's own depth, brought between the two
    max_depth: int = 0
    dropout: float = 0.0
    class_bias: float = -4.6  # at the start: every class scores 0.01

    def __post_init__(self) -> None:
        require_between(self, kernel=(1, 7), layers_before=(0, 8))
        require(not (self.depthwise and self.kernel == 1), "depthwise", self.depthwise, "false for kernel 1")
        require(self.min_depth >= 0, "min_depth", self.min_depth, "0 or more")
        require(self.max_depth >= self.min_depth, "max_depth", self.max_depth, f"at least min_depth ({self.min_depth})")
        require_at_most(self, max_depth=4096)
        has_depth = self.layers_before == 0 or self.max_depth > 0
        require(has_depth, "max_depth", self.max_depth, "above 0 where layers_before is")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "at least 0 and under 1")
        require(abs(self.class_bias) <= 100, "class_bias", self.class_bias, "between -100 and 100")


@dataclass(frozen=True)
class SsdMultibox(BackboneDetector):
    input_size: int = 320
    backbone: Backbone = field(default_factory=Backbone)
    num_maps: int = 6
    depthwise_maps: bool = False  # the added maps come from depthwise separable convolutions
    convolutions: Convolutions = field(default_factory=Convolutions)  # of the backbone and the added maps
    predictor: BoxPredictor = field(default_factory=BoxPredictor)
    predictor_convolutions: Convolutions = field(default_factory=Convolutions)
    anchors: MultiboxAnchors = field(default_factory=MultiboxAnchors)
    box_scales: tuple[float, ...] = BOX_SCALES
    loss: DetectionLoss = field(default_factory=DetectionLoss)
    mining: HardExamples | None = None
    suppression: Suppression = field(default_factory=Suppression)
    resizing: Resizing = "legacy_bilinear"
    next_best: bool = False  # of two boxes with the same best anchor one gets its next best; false: none, as in the API
    tiles: Tiles | None = None
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        name = self.backbone.name
        require(name in MULTIBOX_LAYERS, "backbone.name", name, f"one of {', '.join(sorted(MULTIBOX_LAYERS))} here")
        require(self.input_size >= self.smallest_input, "input_size", self.input_size, f"{self.smallest_input} or more")
        # MobileNet v1 of keras.applications halves odd maps downwards, where the anchors expect upwards.
        fits = name != "mobilenet_v1" or self.backbone.like == "api" or self.input_size % 32 == 0
        require(fits, "input_size", self.input_size, "a multiple of 32 for a mobilenet_v1 like that of keras")
        require(2 <= self.num_maps <= len(STRIDES), "num_maps", self.num_maps, f"between 2 and {len(STRIDES)}")
        require_at_most(self, input_size=MOST_PIXELS)
        require_box_scales(self.box_scales)

    @property
    def strides(self) -> tuple[int, ...]:
        return STRIDES[: self.num_maps]

    @property
    def parts(self) -> Parts:
        return {
            "backbone": VARIABLES[self.backbone.name],
            **({"neck": ("neck.*",)} if self.num_maps > 2 else {}),
            "head": ("head.*",),
            "head.classes": ("head.classes.*",),
            "head.boxes": ("head.boxes.*",),
        }

    def anchor_boxes(self) -> "np.ndarray":
        return self.anchors.boxes(self.input_size, self.strides)

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"boxes": (batch, anchors, 4), "classes": (batch, anchors, k)}.

        With a softmax loss or a background's logit there are k + 1 numbers for the class, the background's first.
        """
        from bakeoff.learning.networks import ssd_multibox_graph

        return ssd_multibox_graph.build(self, num_classes)
