"""What detectors state beside their graph: backbone, convolutions, the loss on anchors, what counts as a detection.

Layers of a backbone keep the names that keras.applications gives them, so that its ImageNet weights load by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from bakeoff.foundation.errors import require, require_at_most, require_between
from bakeoff.learning.networks.network import MOST_PIXELS, Network, Sampling, require_momentum, require_width

if TYPE_CHECKING:
    import keras
    import numpy as np

    from bakeoff.learning.networks.heads.head import Head

BOX_SCALES = (10.0, 10.0, 5.0, 5.0)  # how much finer centres (y, x) and sizes (h, w) are coded than shares of an anchor
PYRAMID_LAYERS: dict[str, dict[int, str]] = {  # level, of stride 2 ** level -> layer
    "mobilenet_v1": {2: "conv_pw_3_relu", 3: "conv_pw_5_relu", 4: "conv_pw_11_relu", 5: "conv_pw_13_relu"},
    "mobilenet_v2": {2: "block_2_add", 3: "block_5_add", 4: "block_12_add", 5: "out_relu"},
    "resnet50": {2: "conv2_block3_out", 3: "conv3_block4_out", 4: "conv4_block6_out", 5: "conv5_block3_out"},
    "resnet101": {2: "conv2_block3_out", 3: "conv3_block4_out", 4: "conv4_block23_out", 5: "conv5_block3_out"},
    "resnet152": {2: "conv2_block3_out", 3: "conv3_block8_out", 4: "conv4_block36_out", 5: "conv5_block3_out"},
}
DEEPEST_LEVEL = 5
MOST_ANCHORS = 10**7
MULTIBOX_LAYERS = {  # the two maps of strides 16 and 32 that the plain SSD looks at
    "mobilenet_v1": ("conv_pw_11_relu", "conv_pw_13_relu"),
    "mobilenet_v2": ("block_13_expand_relu", "out_relu"),
}
STRIDES = (8, 16, 32)  # of the maps of the detectors without a backbone of keras.applications
RESNETS = ("resnet50", "resnet101", "resnet152")
SMALLEST_INPUT = {"mobilenet_v1": 33, "mobilenet_v2": 33, **dict.fromkeys(RESNETS, 129)}
VARIABLES = {  # patterns over `variable.path`
    "mobilenet_v1": ("conv1/*", "conv1_bn/*", "conv_dw_*", "conv_pw_*"),
    "mobilenet_v2": ("Conv1/*", "bn_Conv1/*", "expanded_conv_*", "block_*", "Conv_1*"),
    **dict.fromkeys(RESNETS, ("conv1_*", "conv[2-5]_block*")),
}


@dataclass(frozen=True)
class Backbone:
    """The network of keras.applications that a detector sees through, as `like` has changed it.

    `api` is the Object Detection API's for TensorFlow 2. `keras` leaves paddings, activations, colours and biases as
    they are in keras.applications, and multiplies depths as it does.
    """

    name: Literal["mobilenet_v1", "mobilenet_v2", "resnet50", "resnet101", "resnet152"] = "mobilenet_v2"
    depth_multiplier: float = 1.0  # of the channels, also of those that the detector adds
    min_depth: int = 16  # channels
    override_hyperparameters: bool = True  # kernels, norms and activations as `convolutions` says, not by themselves
    like: Literal["api", "keras"] = "api"

    def __post_init__(self) -> None:
        require_width("depth_multiplier", self.depth_multiplier)
        require(1 <= self.min_depth <= 64, "min_depth", self.min_depth, "between 1 and 64")

    def depth(self, channels: float) -> int:
        """Return so many channels of an added layer, after the multiplier."""
        return max(int(channels * self.depth_multiplier), self.min_depth)


@dataclass(frozen=True)
class Convolutions:
    """How the convolutions of a detector start, are normalised and are kept small."""

    activation: Literal["relu6", "relu"] = "relu6"
    initializer: Literal["random_normal", "truncated_normal"] = "random_normal"
    initial_deviation: float = 0.01
    l2_weight: float = 4e-5  # half of it times the sum of squares of each kernel is added to the loss
    batch_norm_momentum: float = 0.997  # 0.97 for runs of hundreds of steps
    batch_norm_epsilon: float = 0.001

    def __post_init__(self) -> None:
        require(self.initial_deviation > 0, "initial_deviation", self.initial_deviation, "above 0")
        require(self.l2_weight >= 0, "l2_weight", self.l2_weight, "0 or more")
        require_momentum(self.batch_norm_momentum)
        require(self.batch_norm_epsilon > 0, "batch_norm_epsilon", self.batch_norm_epsilon, "above 0")
        require_at_most(self, initial_deviation=10, l2_weight=1, batch_norm_epsilon=1)


@dataclass(frozen=True)
class DetectionLoss:
    """A loss on classes and the smooth L1 (Huber) loss on coded boxes, over the number of matched anchors."""

    classes: Literal["sigmoid_focal", "sigmoid", "softmax"] = "sigmoid_focal"  # softmax: class 0 is the background
    background_logit: bool = False  # adds a sigmoid for the background, whose target is always 0
    background_is_class: bool = False  # the target of the background's sigmoid is 1 where no object is
    focal_alpha: float = 0.25
    focal_gamma: float = 2.0
    smooth_l1_delta: float = 1.0
    class_weight: float = 1.0
    box_weight: float = 1.0
    background_weight: float = 1.0  # of anchors that stand for no box, in the loss on classes
    matched_from: float = 0.5  # overlap (intersection over union) from which an anchor stands for a box
    background_below: float | None = None  # an anchor between this and `matched_from` is ignored; null: no gap
    match_every_box: bool = True  # the best anchor stands for a box though it overlaps less than `matched_from`
    divide_by_matches: bool = True
    divide_boxes_by_code_size: bool = False  # the loss on boxes is the mean of the four numbers, not their sum

    def __post_init__(self) -> None:
        fits = not (self.background_logit and self.classes == "softmax")
        require(fits, "background_logit", self.background_logit, "false for softmax, which has a number for it anyway")
        fits = self.background_logit or not self.background_is_class
        require(fits, "background_is_class", self.background_is_class, "false without background_logit")
        require_between(self, focal_alpha=(0, 1), background_weight=(0, 1))
        require(self.focal_gamma >= 0, "focal_gamma", self.focal_gamma, "0 or more")
        require(self.smooth_l1_delta > 0, "smooth_l1_delta", self.smooth_l1_delta, "above 0")
        require(0 < self.matched_from < 1, "matched_from", self.matched_from, "between 0 and 1")
        below = self.background_below
        in_order = below is None or 0 <= below <= self.matched_from
        require(in_order, "background_below", below, f"between 0 and matched_from ({self.matched_from:g}), or null")
        for key in ("class_weight", "box_weight"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "0 or more")
        require_at_most(self, focal_gamma=20, smooth_l1_delta=1000, class_weight=1000, box_weight=1000)

    @property
    def scores(self) -> Literal["sigmoid", "softmax"]:
        """What turns the network's answers into scores."""
        return "softmax" if self.classes == "softmax" else "sigmoid"

    @property
    def has_background(self) -> bool:
        """Whether the first number of an anchor is the background's."""
        return self.classes == "softmax" or self.background_logit

    def outputs(self, num_classes: int) -> int:
        """Numbers that an anchor answers for its class."""
        return num_classes + self.has_background


@dataclass(frozen=True)
class HardExamples:
    """Only the anchors with the highest losses count. The defaults are those of the SSD paper."""

    max_examples: int = 3000  # in an image; 0: all
    max_overlap: float = 0.99  # of two anchors whose decoded boxes overlap more, only the one with more loss counts
    ranked_by: Literal["both", "classes", "boxes"] = "classes"
    max_negatives_per_positive: int = 3  # 0: no limit
    min_negatives_per_image: int = 0

    def __post_init__(self) -> None:
        require(0 < self.max_overlap <= 1, "max_overlap", self.max_overlap, "above 0, at most 1")
        for key in ("max_examples", "max_negatives_per_positive", "min_negatives_per_image"):
            require(getattr(self, key) >= 0, key, getattr(self, key), "0 or more")
            require_at_most(self, **{key: MOST_ANCHORS})


@dataclass(frozen=True)
class Suppression:
    min_score: float = 0.01
    max_overlap: float = 0.5
    max_detections: int = 50
    max_detections_per_class: int | None = None  # null: as many as of all classes together

    def __post_init__(self) -> None:
        require(0 <= self.min_score < 1, "min_score", self.min_score, "at least 0 and under 1")
        require(0 < self.max_overlap <= 1, "max_overlap", self.max_overlap, "above 0, at most 1")
        require(1 <= self.max_detections <= 1000, "max_detections", self.max_detections, "between 1 and 1000")
        of_class = self.max_detections_per_class
        fits = of_class is None or 1 <= of_class <= 1000
        require(fits, "max_detections_per_class", of_class, "between 1 and 1000, or null")


class Detector(Network, Protocol):
    """A network that answers boxes and classes."""

    @property
    def suppression(self) -> Suppression: ...

    def head(self) -> "Head":
        """Return what tells the meaning of the outputs."""


class AnchorHeadSettings(Protocol):
    """What the head of a detector with anchors asks of it."""

    @property
    def box_scales(self) -> tuple[float, ...]: ...
    @property
    def loss(self) -> DetectionLoss: ...
    @property
    def mining(self) -> HardExamples | None: ...
    @property
    def next_best(self) -> bool: ...  # of two boxes with the same best anchor one gets its next best

    def anchor_boxes(self) -> "np.ndarray":
        """(anchors, 4), in the order of the outputs' rows."""


class ImageDetector:
    """What every detector here derives from: it sees one image, and all of it."""

    task: ClassVar[str] = "detection"
    frames: ClassVar[int] = 1
    central_crop: ClassVar[float] = 1.0
    sampling: ClassVar[Sampling] = Sampling()


class AnchorDetector(ImageDetector):
    """What every detector with anchors derives from."""

    next_best: bool = True

    def head(self: AnchorHeadSettings) -> "Head":
        from bakeoff.learning.networks.heads.anchor_head import AnchorHead

        return AnchorHead(self)


class BackboneDetector(AnchorDetector):
    """What the detectors on a backbone of keras.applications share, beside the fields that each has in its order."""

    input_size: int
    backbone: Backbone

    @property
    def smallest_input(self) -> int:
        return SMALLEST_INPUT[self.backbone.name]

    def imagenet(self) -> "keras.Model":
        from bakeoff.learning.networks.backbones import keras_backbone

        return keras_backbone(self.backbone, (self.input_size, self.input_size, 3), weights="imagenet")


class GridDetector(ImageDetector):
    """What detectors share whose maps are of strides 8, 16 and 32, beside the fields that each has."""

    smallest_input: ClassVar[int] = 32
    input_size: int
    width: float

    @property
    def strides(self) -> tuple[int, ...]:
        return STRIDES

    def require_grid(self) -> None:
        coarsest = max(STRIDES)
        fits = self.input_size >= coarsest and self.input_size % coarsest == 0
        require(fits, "input_size", self.input_size, f"a multiple of the coarsest stride, {coarsest}")
        require_at_most(self, input_size=MOST_PIXELS)
        require_width("width", self.width)


def grid_points(size: int, strides: Iterable[int]) -> "tuple[np.ndarray, np.ndarray]":
    """Return the middles of cells (points, 2) y x and (points, 1) strides, shares of the image: fine to coarse, rows,
    columns.
    """
    import numpy as np

    places, steps = [], []
    for stride in strides:
        centres = (np.arange(size // stride) + 0.5) * stride / size
        places.append(np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1).reshape(-1, 2))
        steps.append(np.full([len(places[-1]), 1], stride / size))
    return np.concatenate(places).astype(np.float32), np.concatenate(steps).astype(np.float32)


def require_box_scales(scales: tuple[float, ...]) -> None:
    fits = len(scales) == 4 and all(scale > 0 for scale in scales)
    require(fits, "box_scales", list(scales), "four numbers above 0: y, x, height, width")
    require(max(scales) <= 1000, "box_scales", list(scales), "at most 1,000 each")
