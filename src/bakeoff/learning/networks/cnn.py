"""Small convolutional classifiers for CPUs: one for images, one for clips."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require
from bakeoff.learning.networks.network import Fit, Parts, Sampling, require_classifier, require_width

if TYPE_CHECKING:
    import keras

    from bakeoff.learning.networks.layers import Tensor

STRIDES = (2, 2, 2)
CHANNELS = (32, 64, 128)
SMALLEST_INPUT = 2 ** (len(STRIDES) + 1)
PARTS: Parts = {"backbone": ("backbone.*",), "head": ("classes/*",)}


@dataclass(frozen=True)
class Cnn:
    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    smallest_input: ClassVar[int] = SMALLEST_INPUT
    parts: ClassVar[Parts] = PARTS
    background: ClassVar[bool] = False
    auxiliary_weight: ClassVar[float] = 0.0
    input_size: int = 48
    width: float = 1.0
    dropout: float = 0.2
    batch_norm_momentum: float = 0.9
    label_smoothing: float = 0.0
    central_crop: float = 1.0  # share of each side that is looked at outside training
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        require_width("width", self.width)
        require_classifier(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Images (batch, size, size, 3) -> {"classes": logits (batch, k)}."""
        import keras

        from bakeoff.learning.networks.layers import channels, convolve, to_unit_range

        image = keras.Input((self.input_size, self.input_size, 3), name="image")
        block = partial(convolve, momentum=self.batch_norm_momentum)
        x = block(to_unit_range(image), channels(16, self.width), name="backbone.stem")
        for number, (stride, filters) in enumerate(zip(STRIDES, CHANNELS, strict=True), start=1):
            width = channels(filters, self.width)
            x = block(x, width, strides=stride, name=f"backbone.stage{number}.down")
            x = block(x, width, name=f"backbone.stage{number}.refine")
        x = keras.layers.GlobalAveragePooling2D(name="head.pool")(x)
        return keras.Model(image, {"classes": _logits(x, self.dropout, num_classes)}, name="cnn")


@dataclass(frozen=True)
class ClipCnn:
    """Space and time apart, as S3D has it: 1x3x3 then 3x1x1 convolutions."""

    task: ClassVar[str] = "video"
    smallest_input: ClassVar[int] = SMALLEST_INPUT
    parts: ClassVar[Parts] = PARTS
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
    fit: Fit = "stretch"  # or with grey beside an image that is no square

    def __post_init__(self) -> None:
        require(2 <= self.frames <= 512, "frames", self.frames, "between 2 and 512")
        require_width("width", self.width)
        require_classifier(self)

    def build(self, num_classes: int) -> "keras.Model":
        """Clips (batch, frames, size, size, 3) -> {"classes": logits (batch, k)}."""
        import keras

        from bakeoff.learning.networks.layers import channels, convolve, to_unit_range

        clip = keras.Input((self.frames, self.input_size, self.input_size, 3), name="clip")
        block = partial(convolve, momentum=self.batch_norm_momentum)
        x = to_unit_range(clip)
        for number, (stride, filters) in enumerate(zip(STRIDES, CHANNELS, strict=True), start=1):
            width = channels(filters // 2, self.width)
            x = block(x, width, kernel=(1, 3, 3), strides=(1, stride, stride), name=f"backbone.stage{number}.space")
            x = block(x, width, kernel=(3, 1, 1), name=f"backbone.stage{number}.time")
        x = keras.layers.GlobalAveragePooling3D(name="head.pool")(x)
        return keras.Model(clip, {"classes": _logits(x, self.dropout, num_classes)}, name="clip_cnn")


def _logits(x: "Tensor", dropout: float, num_classes: int) -> "Tensor":
    import keras

    x = keras.layers.Dropout(dropout, name="head.dropout")(x)
    return keras.layers.Dense(num_classes, name="classes")(x)
