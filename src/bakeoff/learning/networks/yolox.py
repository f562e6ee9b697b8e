"""YOLOX (arXiv:2107.08430): a one-stage detector without anchors, of plain convolutions, for which weights are public.

Layers have the names of the published implementation (Megvii, Apache-2.0), so that its weights load by name.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from bakeoff.foundation.errors import require_between
from bakeoff.learning.networks.detector_settings import GridDetector, Suppression
from bakeoff.learning.networks.network import Fit, Parts, require_momentum
from bakeoff.learning.networks.tiles import Tiles

if TYPE_CHECKING:
    import keras

    from bakeoff.learning.networks.heads.head import Head

MOST_WEIGHT = 1000
NECK = ("lateral_conv0", "C3_p4", "reduce_conv1", "C3_p3", "bu_conv2", "C3_n3", "bu_conv1", "C3_n4")


@dataclass(frozen=True)
class SimOta:
    """Which points are to find a box: of those near its middle, the ones whose answers cost least.

    A box gets as many points as the overlaps of its best ones add up to.
    """

    radius: float = 1.5  # strides of the level, from the middle of a box
    points: int = 10  # of a box, at most
    overlap_weight: float = 3.0  # of -log(overlap), beside the cross-entropy of the classes

    def __post_init__(self) -> None:
        require_between(self, radius=(0.5, 100), points=(1, 1000), overlap_weight=(0, MOST_WEIGHT))


@dataclass(frozen=True)
class YoloxLoss:
    """Cross-entropy on whether there is an object and on classes, one minus the squared overlap of boxes, and how far
    their four numbers are away. All are divided by the number of points that are to find a box."""

    object_weight: float = 1.0
    class_weight: float = 1.0
    box_weight: float = 5.0
    coordinate_weight: float = 0.0  # of the last; 1 in the last 15 of the 300 published epochs

    def __post_init__(self) -> None:
        keys = ("object_weight", "class_weight", "box_weight", "coordinate_weight")
        require_between(self, **dict.fromkeys(keys, (0, MOST_WEIGHT)))


@dataclass(frozen=True)
class Yolox(GridDetector):
    layouts: ClassVar[tuple[str, ...]] = ("detections", "yolov8", "yolov8_corners")
    has_object: ClassVar[bool] = True  # the first number of a point's classes is whether there is an object at all
    parts: ClassVar[Parts] = {
        "backbone": ("backbone.backbone.*",),
        "neck": tuple(f"backbone.{name}*" for name in NECK),
        "head": ("head.*",),
        "head.classes": ("head.cls_*",),
        "head.boxes": ("head.reg_*", "head.obj_*"),
    }
    input_size: int = 416
    width: float = 0.25  # of 1,024 channels in the last stage: 0.25 is nano, 0.375 tiny, 0.5 s
    depth: float = 0.33  # of three residual pairs of convolutions in the first stage, nine in the next two
    depthwise: bool = True  # convolutions of 3 x 3 look at each channel by itself, as in nano
    activation: Literal["silu", "relu", "relu6"] = "silu"
    batch_norm_momentum: float = 0.97
    assignment: SimOta = field(default_factory=SimOta)
    loss: YoloxLoss = field(default_factory=YoloxLoss)
    suppression: Suppression = field(default_factory=Suppression)
    tiles: Tiles | None = None
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        self.require_grid()
        require_momentum(self.batch_norm_momentum)
        require_between(self, depth=(0.01, 4))

    def head(self) -> "Head":
        from bakeoff.learning.networks.heads.yolox_head import YoloxHead

        return YoloxHead(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (n, size, size, 3) -> {"boxes": (n, points, 4) x, y from the corner of the cell and the
        logarithms of width and height, in strides, "classes": (n, points, 1 + k) logits of an object and of classes}.
        """
        from bakeoff.learning.networks import yolox_graph

        return yolox_graph.build(self, num_classes)
