"""Image classifiers whose backbones are those of keras.applications, layer names and all.

So weights that were trained elsewhere load by name; `imagenet` gives Keras' own, which it downloads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bakeoff.errors import require
from bakeoff.networks.classifier import require_classifier
from bakeoff.networks.sampling import Sampling

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class MobileNetV2:
    """https://arxiv.org/abs/1801.04381"""

    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    smallest_input: ClassVar[int] = 32
    input_size: int = 224
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training

    def __post_init__(self) -> None:
        _require_application(self)
        require(0 < self.width <= 4, "width", self.width, "above 0, at most 4")

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        backbone = ("Conv1/*", "bn_Conv1/*", "expanded_conv_*", "block_*", "Conv_1/*", "Conv_1_bn/*")
        return {"backbone": backbone, "head": ("logits/*",), "logits": ("logits/*",)}

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"classes": logits (batch, k)}."""
        from bakeoff.networks import application_graph

        return application_graph.mobilenet_v2(self, num_classes)

    def imagenet(self) -> "keras.Model":
        from bakeoff.networks import application_graph

        return application_graph.mobilenet_v2_of_imagenet(self)


@dataclass(frozen=True)
class MobileNetV3:
    """https://arxiv.org/abs/1905.02244"""

    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    smallest_input: ClassVar[int] = 32
    size: Literal["small", "large"] = "small"
    input_size: int = 224
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training

    def __post_init__(self) -> None:
        _require_application(self)
        require(0 < self.width <= 4, "width", self.width, "above 0, at most 4")

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        backbone = ("conv/*", "conv_bn/*", "expanded_conv*", "conv_1/*", "conv_1_bn/*")
        return {"backbone": backbone, "head": ("conv_2/*", "logits/*"), "logits": ("logits/*",)}

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"classes": logits (batch, k)}."""
        from bakeoff.networks import application_graph

        return application_graph.mobilenet_v3(self, num_classes)

    def imagenet(self) -> "keras.Model":
        from bakeoff.networks import application_graph

        return application_graph.mobilenet_v3_of_imagenet(self)


@dataclass(frozen=True)
class EfficientNetV2B0:
    """https://arxiv.org/abs/2104.00298"""

    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    smallest_input: ClassVar[int] = 32
    input_size: int = 224
    dropout: float = 0.2
    batch_norm_momentum: float = 0.9  # what keras.applications has here
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training

    def __post_init__(self) -> None:
        _require_application(self)

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        backbone = ("stem_*", "block*", "top_conv/*", "top_bn/*")
        return {"backbone": backbone, "head": ("logits/*",), "logits": ("logits/*",)}

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> {"classes": logits (batch, k)}."""
        from bakeoff.networks import application_graph

        return application_graph.efficientnet_v2_b0(self, num_classes)

    def imagenet(self) -> "keras.Model":
        from bakeoff.networks import application_graph

        return application_graph.efficientnet_v2_b0_of_imagenet(self)


def _require_application(network: MobileNetV2 | MobileNetV3 | EfficientNetV2B0) -> None:
    least = network.smallest_input
    require(network.input_size >= least, "input_size", network.input_size, f"{least} or more")
    require_classifier(network)
