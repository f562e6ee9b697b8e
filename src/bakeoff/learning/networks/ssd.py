"""A single-shot detector: backbone with a width multiplier, feature pyramid, class and box heads on every level.

Plain 3x3 convolutions: on CPUs they train faster than depthwise ones of the same order of parameters.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require_between
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.detector_settings import (
    BOX_SCALES,
    AnchorDetector,
    DetectionLoss,
    GridDetector,
    HardExamples,
    Suppression,
)
from bakeoff.learning.networks.network import Fit, Parts, require_momentum
from bakeoff.learning.networks.tiles import Tiles

if TYPE_CHECKING:
    import keras
    import numpy as np


@dataclass(frozen=True)
class Ssd(AnchorDetector, GridDetector):
    box_scales: ClassVar[tuple[float, ...]] = BOX_SCALES
    parts: ClassVar[Parts] = {
        "backbone": ("backbone.*",),
        "neck": ("pyramid.*",),
        "head": ("head.*",),
        "head.classes": ("head.classes/*",),
        "head.boxes": ("head.boxes/*",),
    }
    input_size: int = 160
    width: float = 1.0
    pyramid_channels: int = 64
    head_convolutions: int = 1
    batch_norm_momentum: float = 0.9
    anchors: Anchors = field(default_factory=Anchors)
    loss: DetectionLoss = field(default_factory=DetectionLoss)
    mining: HardExamples | None = None
    suppression: Suppression = field(default_factory=Suppression)
    tiles: Tiles | None = None
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        self.require_grid()
        require_between(self, pyramid_channels=(8, 1024), head_convolutions=(0, 8))
        require_momentum(self.batch_norm_momentum)

    def anchor_boxes(self) -> "np.ndarray":
        return self.anchors.boxes(self.input_size, self.strides)

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"boxes": (batch, anchors, 4), "classes": (batch, anchors, k)}."""
        from bakeoff.learning.networks import ssd_graph

        return ssd_graph.build(self, num_classes)
