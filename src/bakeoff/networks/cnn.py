"""Small convolutional classifiers for CPUs: one for images, one for clips."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bakeoff.errors import require
from bakeoff.networks.classifier import require_classifier
from bakeoff.networks.sampling import Sampling

if TYPE_CHECKING:
    import keras

STRIDES = (2, 2, 2)
CHANNELS = (32, 64, 128)
SMALLEST_INPUT = 2 ** (len(STRIDES) + 1)
PARTS: Mapping[str, tuple[str, ...]] = {"backbone": ("backbone.*",), "head": ("classes/*",)}


@dataclass(frozen=True)
class Cnn:
    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    smallest_input: ClassVar[int] = SMALLEST_INPUT
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = PARTS
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    input_size: int = 48
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.9
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training

    def __post_init__(self) -> None:
        _require_shared(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Images (batch, size, size, 3) -> {"classes": logits (batch, k)}."""
        from bakeoff.networks import cnn_graph

        return cnn_graph.of_images(self, num_classes)


@dataclass(frozen=True)
class ClipCnn:
    """Space and time apart, as S3D has it: 1x3x3 then 3x1x1 convolutions."""

    task: ClassVar[str] = "video"
    smallest_input: ClassVar[int] = SMALLEST_INPUT
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = PARTS
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    input_size: int = 64
    frames: int = 16
    sampling: Sampling = field(default_factory=Sampling)
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.9
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training

    def __post_init__(self) -> None:
        require(2 <= self.frames <= 512, "frames", self.frames, "between 2 and 512")
        _require_shared(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Clips (batch, frames, size, size, 3) -> {"classes": logits (batch, k)}."""
        from bakeoff.networks import cnn_graph

        return cnn_graph.of_clips(self, num_classes)


def _require_shared(network: Cnn | ClipCnn) -> None:
    fits = network.input_size >= SMALLEST_INPUT
    require(fits, "input_size", network.input_size, f"{SMALLEST_INPUT} or more")
    require(0 < network.width <= 4, "width", network.width, "above 0, at most 4")
    require_classifier(network)
