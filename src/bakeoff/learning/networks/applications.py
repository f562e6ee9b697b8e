"""Image classifiers whose backbones are those of keras.applications, layer names and all.

So weights that were trained elsewhere load by name; `imagenet` gives Keras' own, which it downloads. Each builds from
images 0..255 (batch, size, size, 3) a graph that answers {"classes": logits (batch, k)}.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bakeoff.foundation.errors import require_between
from bakeoff.learning.networks.network import Fit, Parts, Sampling, require_classifier, require_width

if TYPE_CHECKING:
    import keras


class Application:
    """What these networks share, beside the fields that each has in an order of its own."""

    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    graph: ClassVar[str]  # its function in `applications_graph`

    def build(self, num_classes: int) -> "keras.Model":
        from bakeoff.learning.networks import applications_graph

        return getattr(applications_graph, self.graph)(self, num_classes)

    def imagenet(self) -> "keras.Model":
        from bakeoff.learning.networks import applications_graph

        return getattr(applications_graph, f"{self.graph}_of_imagenet")(self)


class OneHeaded(Application):
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    smallest_input: ClassVar[int] = 32


@dataclass(frozen=True)
class MobileNetV2(OneHeaded):
    """https://arxiv.org/abs/1801.04381"""

    graph: ClassVar[str] = "mobilenet_v2"
    parts: ClassVar[Parts] = {
        "backbone": ("Conv1/*", "bn_Conv1/*", "expanded_conv_*", "block_*", "Conv_1/*", "Conv_1_bn/*"),
        "head": ("logits/*",),
        "logits": ("logits/*",),
    }
    input_size: int = 224
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        require_classifier(self)
        require_width("width", self.width)


@dataclass(frozen=True)
class MobileNetV3(OneHeaded):
    """https://arxiv.org/abs/1905.02244"""

    graph: ClassVar[str] = "mobilenet_v3"
    parts: ClassVar[Parts] = {
        "backbone": ("conv/*", "conv_bn/*", "expanded_conv*", "conv_1/*", "conv_1_bn/*"),
        "head": ("conv_2/*", "logits/*"),
        "logits": ("logits/*",),
    }
    size: Literal["small", "large"] = "small"
    input_size: int = 224
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        require_classifier(self)
        require_width("width", self.width)


@dataclass(frozen=True)
class EfficientNetV2B0(OneHeaded):
    """https://arxiv.org/abs/2104.00298"""

    graph: ClassVar[str] = "efficientnet_v2_b0"
    parts: ClassVar[Parts] = {
        "backbone": ("stem_*", "block*", "top_conv/*", "top_bn/*"),
        "head": ("logits/*",),
        "logits": ("logits/*",),
    }
    input_size: int = 224
    dropout: float = 0.2
    batch_norm_momentum: float = 0.9  # what keras.applications has here
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        require_classifier(self)


@dataclass(frozen=True)
class InceptionV3(Application):
    """https://arxiv.org/abs/1512.00567, as published: with an auxiliary head and, if asked for, a background class.

    The auxiliary head's logits are "auxiliary" beside "classes".
    """

    graph: ClassVar[str] = "inception_v3"
    smallest_input: ClassVar[int] = 75
    input_size: int = 299
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    label_smoothing: float = 0.1
    central_crop: float = 1.0  # share of each side that is looked at outside training
    fit: Fit = "stretch"  # or with grey beside an image that is no square
    auxiliary_weight: float = 0.4  # of the second head's loss; 0: no such head
    background: bool = False  # one more output, for none of the classes
    l2_weight: float = 0.0  # half of it times the sum of squares of each kernel is added to the loss

    def __post_init__(self) -> None:
        require_classifier(self)
        require_between(self, auxiliary_weight=(0, 1), l2_weight=(0, 1))

    @property
    def parts(self) -> Parts:
        backbone = ("conv2d/*", "conv2d_*", "batch_normalization/*", "batch_normalization_*")
        if not self.auxiliary_weight:
            return {"backbone": backbone, "head": ("logits/*",), "logits": ("logits/*",)}
        return {
            "backbone": backbone,
            "head": ("logits/*", "auxiliary.*"),
            "logits": ("logits/*", "auxiliary.logits/*"),
            "auxiliary": ("auxiliary.*",),
        }
