"""SSD on a feature pyramid with shared heads: RetinaNet (Lin et al., arXiv:1708.02002), and its lite form."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bakeoff.foundation.errors import require, require_at_most, require_between
from bakeoff.learning.networks.anchors import PyramidAnchors
from bakeoff.learning.networks.detector_settings import (
    BOX_SCALES,
    DEEPEST_LEVEL,
    PYRAMID_LAYERS,
    RESNETS,
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


@dataclass(frozen=True)
class Pyramid:
    """Levels of stride 2 ** level; those above 5 come from convolutions of stride 2 on level 5."""

    min_level: int = 3
    max_level: int = 7
    depth: int = 256  # channels of every level, before the backbone's multiplier
    depthwise: bool = False

    def __post_init__(self) -> None:
        require_between(self, min_level=(2, DEEPEST_LEVEL), max_level=(DEEPEST_LEVEL, 9), depth=(1, 1024))

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(range(self.min_level, self.max_level + 1))


@dataclass(frozen=True)
class SharedBoxPredictor:
    """Heads whose weights read every level; batch norms are each level's own, for their statistics differ."""

    depth: int = 256
    layers_before: int = 4
    kernel: int = 3
    depthwise: bool = False
    share_tower: bool = False  # classes and boxes share the layers of the tower
    dropout: float = 0.0
    class_bias: float = -4.6  # at the start: every class scores 0.01

    def __post_init__(self) -> None:
        require_between(self, depth=(1, 1024), layers_before=(0, 8), kernel=(1, 7))
        require(not (self.depthwise and self.kernel == 1), "depthwise", self.depthwise, "false for kernel 1")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "at least 0 and under 1")
        require(abs(self.class_bias) <= 100, "class_bias", self.class_bias, "between -100 and 100")


@dataclass(frozen=True)
class SsdFpn(BackboneDetector):
    input_size: int = 640
    backbone: Backbone = field(default_factory=Backbone)
    pyramid: Pyramid = field(default_factory=Pyramid)
    convolutions: Convolutions = field(default_factory=Convolutions)  # of the backbone and the pyramid
    predictor: SharedBoxPredictor = field(default_factory=SharedBoxPredictor)
    predictor_convolutions: Convolutions = field(default_factory=Convolutions)
    anchors: PyramidAnchors = field(default_factory=PyramidAnchors)
    box_scales: tuple[float, ...] = BOX_SCALES
    loss: DetectionLoss = field(default_factory=DetectionLoss)
    mining: HardExamples | None = None
    suppression: Suppression = field(default_factory=Suppression)
    resizing: Resizing = "legacy_bilinear"
    next_best: bool = False  # of two boxes with the same best anchor one gets its next best; false: none, as in the API
    tiles: Tiles | None = None
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        size, step = self.input_size, 2**DEEPEST_LEVEL
        require(size >= self.smallest_input, "input_size", size, f"{self.smallest_input} or more")
        require(size % step == 0, "input_size", size, f"a multiple of {step}, so that the levels lie on each other")
        depthwise = self.pyramid.depthwise
        fits = not (depthwise and self.backbone.name in RESNETS)
        require(fits, "pyramid.depthwise", depthwise, f"false for {self.backbone.name}")
        require_at_most(self, input_size=MOST_PIXELS)
        require_box_scales(self.box_scales)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(2**level for level in self.pyramid.levels)

    @property
    def layers(self) -> dict[int, str]:
        """The backbone's layer for each level that it has."""
        of_level = PYRAMID_LAYERS[self.backbone.name]
        return {level: of_level[level] for level in self.pyramid.levels if level in of_level}

    @property
    def parts(self) -> Parts:
        tower = self.predictor.share_tower and self.predictor.layers_before > 0
        return {
            "backbone": VARIABLES[self.backbone.name],
            "neck": ("neck.*",),
            "head": ("head.*",),
            "head.classes": ("head.classes*",),
            "head.boxes": ("head.boxes*",),
            **({"head.tower": ("head.tower.*",)} if tower else {}),
        }

    def anchor_boxes(self) -> "np.ndarray":
        return self.anchors.boxes(self.input_size, self.strides)

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"boxes": (batch, anchors, 4), "classes": (batch, anchors, k)}.

        With a softmax loss or a background's logit there are k + 1 numbers for the class, the background's first.
        """
        from bakeoff.learning.networks import ssd_fpn_graph

        return ssd_fpn_graph.build(self, num_classes)
