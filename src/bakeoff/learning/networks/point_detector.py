"""A one-stage detector without anchors: every point of three grids answers how far the sides of its box are away.

Its parts are those of published papers: a backbone of cross-stage partial blocks (CSPNet, arXiv:1911.11929), pooling
at several sizes (SPP, arXiv:1406.4729), a path down and up again (PANet, arXiv:1803.01534), heads of their own for
classes and boxes (YOLOX, arXiv:2107.08430) whose weights the levels share (RTMDet, arXiv:2212.07784), and sides as
distributions (GFL, arXiv:2006.04388). point_head.py says what the answers mean and cost.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from bakeoff.foundation.errors import require, require_between
from bakeoff.learning.networks.detector_settings import GridDetector, Suppression
from bakeoff.learning.networks.network import Fit, Parts, require_momentum
from bakeoff.learning.networks.tiles import Tiles

if TYPE_CHECKING:
    import keras

    from bakeoff.learning.networks.heads.head import Head

MOST_WEIGHT = 1000
LAYOUTS = ("detections", "yolov8", "yolov8_corners", "yolov8_levels")  # in which the outputs can be exported


@dataclass(frozen=True)
class Assignment:
    """Which points are to find a box: of those in it, the ones whose answers suit it best (TOOD, arXiv:2108.07755).

    How well an answer suits is score ** score_power * overlap ** overlap_power, with the score of the box's class.
    """

    points: int = 10  # of a box, at most
    score_power: float = 0.5
    overlap_power: float = 3.0

    def __post_init__(self) -> None:
        require_between(self, points=(1, 1000), score_power=(0, 20), overlap_power=(0, 20))


@dataclass(frozen=True)
class PointLoss:
    """Cross-entropy on scores, which are to say how well a box fits; on boxes one minus their overlap, and the
    distribution focal loss of GFL. All three are divided by the sum of what the scores are to be."""

    focal_gamma: float = 1.5  # times |what the score is to be - the score| ** gamma, as in TOOD; 0: plain cross-entropy
    overlap: Literal["ciou", "giou"] = "ciou"  # arXiv:1911.08287, arXiv:1902.09630
    class_weight: float = 1.0
    overlap_weight: float = 2.0
    distribution_weight: float = 0.5

    def __post_init__(self) -> None:
        require(0 <= self.focal_gamma <= 20, "focal_gamma", self.focal_gamma, "between 0 and 20")
        for key in ("class_weight", "overlap_weight", "distribution_weight"):
            require(0 <= getattr(self, key) <= MOST_WEIGHT, key, getattr(self, key), f"between 0 and {MOST_WEIGHT:,}")


@dataclass(frozen=True)
class PointSuppression(Suppression):
    """Many points find one object, and the best by score has not always the tightest box: more stay than of anchors."""

    max_overlap: float = 0.6


@dataclass(frozen=True)
class PointDetector(GridDetector):
    layouts: ClassVar[tuple[str, ...]] = LAYOUTS
    parts: ClassVar[Parts] = {
        "backbone": ("backbone.*",),
        "neck": ("neck.*",),
        "head": ("head.*",),
        "head.classes": ("head.classes*",),
        "head.boxes": ("head.boxes*",),
    }
    input_size: int = 640
    width: float = 0.25  # of 1,024 channels in the last stage: 0.25 is nano, 0.5 small
    most_channels: int = 1024  # of a stage, times the width; less for small inputs, whose last maps have few cells
    first_stride: Literal[2, 4] = 2  # of the first convolution; with 4 it replaces two: quicker and less exact
    depth: int = 1  # residual pairs of convolutions in a stage of the backbone
    head_convolutions: int = 1  # before the last layer of each head
    activation: Literal["relu", "relu6", "silu"] = "relu"
    bins: int = 16  # of the distribution of a side, in strides of the level: 0 to bins - 1
    batch_norm_momentum: float = 0.97
    assignment: Assignment = field(default_factory=Assignment)
    loss: PointLoss = field(default_factory=PointLoss)
    suppression: PointSuppression = field(default_factory=PointSuppression)
    tiles: Tiles | None = None
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        self.require_grid()
        require_momentum(self.batch_norm_momentum)
        require_between(self, most_channels=(64, 4096), depth=(1, 12), head_convolutions=(0, 8), bins=(2, 64))

    def head(self) -> "Head":
        from bakeoff.learning.networks.heads.point_head import PointHead

        return PointHead(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (n, size, size, 3) -> {"boxes": (n, points, 4 * bins) logits of the distances left, up,
        right and down, "classes": (n, points, k) logits}."""
        from bakeoff.learning.networks import point_graph

        return point_graph.build(self, num_classes)
