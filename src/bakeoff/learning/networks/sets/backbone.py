"""HGNetV2: a stem and stages of blocks that join what each of their layers sees.

Every activation is followed by one factor and one summand that are learnt (`Affine`).
"""

from typing import NamedTuple

import keras

from bakeoff.learning.networks.layers import Tensor
from bakeoff.learning.networks.norms import BatchNorm
from bakeoff.learning.networks.set_detector import SetDetector

EPSILON = 1e-5
STEM = 16  # channels


class Stage(NamedTuple):
    inner: int
    outer: int  # channels
    blocks: int
    light: bool  # 1 x 1, then each channel by itself
    kernel: int


FIRST = (Stage(16, 64, 1, False, 3), Stage(32, 256, 1, False, 3))
STAGES = {
    "atto": (*FIRST, Stage(64, 256, 1, True, 3)),
    "femto": (*FIRST, Stage(64, 512, 1, True, 5)),
    "pico": (*FIRST, Stage(64, 512, 2, True, 5)),
    "b0": (*FIRST, Stage(64, 512, 2, True, 5), Stage(128, 1024, 1, True, 5)),
}
LAYERS = 3  # of a block


class Affine(keras.layers.Layer):
    """One factor and one summand for the whole map."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        self.scale = self.add_weight(name="scale", shape=(1,), initializer="ones")
        self.bias = self.add_weight(name="bias", shape=(1,), initializer="zeros")

    def call(self, x: Tensor) -> Tensor:
        return keras.ops.cast(self.scale, x.dtype) * x + keras.ops.cast(self.bias, x.dtype)

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return shape


class Convolver:
    """Makes convolutions with their norms, which share the settings of a detector."""

    def __init__(self, detector: SetDetector, norm: str) -> None:
        self._momentum, self._norm = detector.batch_norm_momentum, norm

    def convolve(
        self, x: Tensor, filters: int | None, *, name: str, kernel: int = 1, strides: int = 1, activation: str | None
    ) -> Tensor:
        """Add a convolution that looks as far to each side, norm and activation; without `filters` every channel is
        looked at by itself.
        """
        if strides > 1:
            x = keras.layers.ZeroPadding2D((kernel - 1) // 2, name=f"{name}.pad")(x)
        padding = "same" if strides == 1 and kernel % 2 else "valid"
        options = {"padding": padding, "use_bias": False, "name": f"{name}.conv"}
        if filters is None:
            start = _start(alone=x.shape[-1])
            x = keras.layers.DepthwiseConv2D(kernel, strides, depthwise_initializer=start, **options)(x)
        else:
            x = keras.layers.Conv2D(filters, kernel, strides, kernel_initializer=_start(), **options)(x)
        return self.normalise(x, f"{name}.{self._norm}", activation)

    def normalise(self, x: Tensor, name: str, activation: str | None) -> Tensor:
        x = BatchNorm(momentum=self._momentum, epsilon=EPSILON, name=name)(x)
        return keras.layers.Activation(activation, name=f"{name}.{activation}")(x) if activation else x


def backbone(detector: SetDetector, x: Tensor) -> list[Tensor]:
    """Return the maps of all stages from stride 4 on, of pixels 0..1."""
    layers = Convolver(detector, "bn")

    def channels(number: int) -> int:
        return max(2, int(number * detector.width + 0.5) // 2 * 2)

    def look(x: Tensor, filters: int | None, name: str, kernel: int = 1, strides: int = 1) -> Tensor:
        seen = layers.convolve(x, filters, name=name, kernel=kernel, strides=strides, activation="relu")
        return Affine(name=f"{name}.lab")(seen)

    def lengthened(x: Tensor, name: str) -> Tensor:
        """One row below and one column to the right."""
        return keras.layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"{name}.pad")(x)

    stem, first = "backbone.stem", channels(STEM)
    x = lengthened(look(x, first, f"{stem}.stem1", 3, 2), f"{stem}.stem2a")
    seen = lengthened(look(x, first // 2, f"{stem}.stem2a", 2), f"{stem}.stem2b")
    seen = look(seen, first, f"{stem}.stem2b", 2)
    pooled = keras.layers.MaxPooling2D(2, 1, name=f"{stem}.pool")(x)
    x = look(keras.layers.Concatenate(name=f"{stem}.join")([pooled, seen]), first, f"{stem}.stem3", 3, 2)
    x = look(x, first, f"{stem}.stem4")

    maps = []
    for number, stage in enumerate(STAGES[detector.backbone]):
        name = f"backbone.stages.{number}"
        if number:
            x = layers.convolve(x, None, name=f"{name}.downsample", kernel=3, strides=2, activation=None)
        for place in range(stage.blocks):
            block, before, seen = f"{name}.blocks.{place}", x, [x]
            for layer in range(LAYERS):
                inside = f"{block}.layers.{layer}"
                if stage.light:
                    x = layers.convolve(x, channels(stage.inner), name=f"{inside}.conv1", activation=None)
                    x = look(x, None, f"{inside}.conv2", stage.kernel)
                else:
                    x = look(x, channels(stage.inner), inside, stage.kernel)
                seen.append(x)
            x = keras.layers.Concatenate(name=f"{block}.join")(seen)
            x = look(x, channels(stage.outer) // 2, f"{block}.aggregation.0")
            x = look(x, channels(stage.outer), f"{block}.aggregation.1")
            if place:
                x = keras.layers.Add(name=f"{block}.add")([x, before])
        maps.append(x)
    return maps


def _start(alone: int = 1) -> keras.initializers.Initializer:
    """Return the published start of kernels; Keras counts all `alone` channels of which a kernel sees one."""
    return keras.initializers.VarianceScaling(alone / 3, "fan_in", "uniform")
