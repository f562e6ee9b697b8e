"""A single-shot detector: backbone with a width multiplier, feature pyramid, class and box heads on every level.

Plain 3x3 convolutions: on CPUs they train about three times as fast as depthwise ones of the same size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bakeoff.errors import require
from bakeoff.networks.anchors import Anchors

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class DetectionLoss:
    """Sigmoid focal loss on classes, smooth L1 on coded boxes; both over the number of matched anchors."""

    focal_alpha: float = 0.25
    focal_gamma: float = 2.0
    smooth_l1_delta: float = 1.0
    class_weight: float = 1.0
    box_weight: float = 1.0
    matched_from: float = 0.5  # overlap (intersection over union) from which an anchor stands for a box

    def __post_init__(self) -> None:
        require(0 <= self.focal_alpha <= 1, "focal_alpha", self.focal_alpha, "between 0 and 1")
        require(self.focal_gamma >= 0, "focal_gamma", self.focal_gamma, "0 or more")
        require(self.smooth_l1_delta > 0, "smooth_l1_delta", self.smooth_l1_delta, "above 0")
        require(0 < self.matched_from < 1, "matched_from", self.matched_from, "between 0 and 1")
        for key in ("class_weight", "box_weight"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "0 or more")


@dataclass(frozen=True)
class Suppression:
    """Which of the raw boxes are detections."""

    min_score: float = 0.01
    max_overlap: float = 0.5
    max_detections: int = 50

    def __post_init__(self) -> None:
        require(0 <= self.min_score < 1, "min_score", self.min_score, "at least 0 and under 1")
        require(0 < self.max_overlap <= 1, "max_overlap", self.max_overlap, "above 0, at most 1")
        require(1 <= self.max_detections <= 1000, "max_detections", self.max_detections, "between 1 and 1000")


@dataclass(frozen=True)
class Ssd:
    task: ClassVar[str] = "detection"
    frames: ClassVar[int] = 1
    strides: ClassVar[tuple[int, ...]] = (8, 16, 32)
    input_size: int = 160
    width: float = 1.0
    pyramid_channels: int = 64
    head_convolutions: int = 1
    batch_norm_momentum: float = 0.9
    anchors: Anchors = field(default_factory=Anchors)
    loss: DetectionLoss = field(default_factory=DetectionLoss)
    suppression: Suppression = field(default_factory=Suppression)

    def __post_init__(self) -> None:
        coarsest = max(self.strides)
        fits = self.input_size >= coarsest and self.input_size % coarsest == 0
        require(fits, "input_size", self.input_size, f"a multiple of the coarsest stride, {coarsest}")
        require(0 < self.width <= 4, "width", self.width, "above 0, at most 4")
        require(8 <= self.pyramid_channels <= 1024, "pyramid_channels", self.pyramid_channels, "between 8 and 1024")
        require(0 <= self.head_convolutions <= 8, "head_convolutions", self.head_convolutions, "between 0 and 8")
        momentum = self.batch_norm_momentum
        require(0 < momentum < 1, "batch_norm_momentum", momentum, "between 0 and 1")

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        return {"backbone": ("backbone.*",), "neck": ("pyramid.*",), "head": ("head.*",)}

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"boxes": (batch, anchors, 4), "classes": (batch, anchors, k)}."""
        from bakeoff.networks import ssd_graph

        return ssd_graph.build(self, num_classes)
