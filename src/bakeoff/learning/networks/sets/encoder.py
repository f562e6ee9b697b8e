"""The encoder: attention within the coarsest map, then what coarse maps see goes down and up again.

`hybrid` is that of D-FINE, `lite` that of the smallest DEIMv2, which makes its coarse map itself.
"""

import keras
import numpy as np

from bakeoff.learning.networks.layers import Tensor
from bakeoff.learning.networks.set_detector import HEADS, SetDetector
from bakeoff.learning.networks.sets.attention import Attention, dense, layer_norm
from bakeoff.learning.networks.sets.backbone import Convolver

ACTIVATION = "silu"
PAIRS = 3
TEMPERATURE = 10000.0


class _Encoder:
    def __init__(self, detector: SetDetector) -> None:
        self._detector, self._channels = detector, detector.channels
        self._layers, self._is_v2 = Convolver(detector, "norm"), detector.version == "deim_v2"
        self._inner = round(detector.expansion * detector.channels // 2)
        self._pairs = round(PAIRS * detector.depth)

    def convolve(self, x: Tensor, name: str, activation: str | None = None) -> Tensor:
        return self._layers.convolve(x, self._channels, name=name, activation=activation)

    def look(self, x: Tensor, filters: int, name: str, kernel: int = 1) -> Tensor:
        return self._layers.convolve(x, filters, name=name, kernel=kernel, activation=ACTIVATION)

    def smaller(self, x: Tensor, name: str) -> Tensor:
        """Halve both sides: 1 x 1, then each channel by itself."""
        x = self.convolve(x, f"{name}.cv1")
        return self._layers.convolve(x, None, name=f"{name}.cv2", kernel=3, strides=2, activation=None)

    def pooled(self, x: Tensor, name: str) -> Tensor:
        """Halve both sides: the mean of 3 x 3 with zeros around, then 1 x 1."""
        x = keras.layers.ZeroPadding2D(1, name=f"{name}.pad")(x)
        x = keras.layers.AveragePooling2D(3, 2, name=f"{name}.0")(x)
        kernel = keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")
        layer = keras.layers.Conv2D(self._channels, 1, use_bias=False, kernel_initializer=kernel, name=f"{name}.1")
        return self._layers.normalise(layer(x), f"{name}.2", ACTIVATION)

    def together(self, maps: list[Tensor], name: str) -> Tensor:
        return (keras.layers.Add if self._is_v2 else keras.layers.Concatenate)(name=f"{name}.in")(maps)

    def block(self, x: Tensor, name: str) -> Tensor:
        """Mix: of two halves one passes two blocks of pairs of convolutions, and all is joined."""
        half, inner = self._channels, self._inner
        x = self.look(x, 2 * half, f"{name}.cv1")
        seen = [x[..., :half], x[..., half:]]
        for number in (2, 3):
            x = self._partial(seen[-1], inner, f"{name}.cv{number}.0")
            seen.append(self.look(x, inner, f"{name}.cv{number}.1", 3))
        return self.look(keras.layers.Concatenate(name=f"{name}.join")(seen), self._channels, f"{name}.cv4")

    def _partial(self, x: Tensor, inner: int, name: str) -> Tensor:
        if self._is_v2:
            x = self.look(x, 2 * inner, f"{name}.conv1")
            kept, x = x[..., :inner], x[..., inner:]
        else:
            kept = self.look(x, inner, f"{name}.conv2")
            x = self.look(x, inner, f"{name}.conv1")
        for number in range(self._pairs):
            pair = f"{name}.bottlenecks.{number}"
            parts = [
                self._layers.convolve(x, inner, name=f"{pair}.conv{kind}", kernel=kernel, activation=None)
                for kind, kernel in ((1, 3), (2, 1))
            ]
            x = keras.layers.Add(name=f"{pair}.add")(parts)
            x = keras.layers.Activation(ACTIVATION, name=f"{pair}.{ACTIVATION}")(x)
        return keras.layers.Add(name=f"{name}.add")([x, kept])

    def attend(self, x: Tensor, name: str) -> Tensor:
        """Every cell of the map looks at every other one."""
        rows, columns, channels = x.shape[1:]
        x = keras.layers.Reshape((-1, channels), name=f"{name}.rows")(x)
        seen = Attention(channels, HEADS, _places(rows, columns, channels), name=f"{name}.self_attn")(x)
        x = layer_norm(f"{name}.norm1")(keras.layers.Add(name=f"{name}.add1")([x, seen]))
        seen = dense(self._detector.encoder_feedforward, f"{name}.linear1")(x)
        seen = dense(channels, f"{name}.linear2")(keras.layers.Activation(_gelu, name=f"{name}.gelu")(seen))
        x = layer_norm(f"{name}.norm2")(keras.layers.Add(name=f"{name}.add2")([x, seen]))
        return keras.layers.Reshape((rows, columns, channels), name=f"{name}.map")(x)


def encode(detector: SetDetector, maps: list[Tensor]) -> list[Tensor]:
    """Return maps of `channels`, fine to coarse, of the last maps of the backbone."""
    layers, name = _Encoder(detector), "encoder"
    return _lite(layers, maps[-1], name) if detector.encoder == "lite" else _hybrid(layers, maps, detector.levels, name)


def _hybrid(layers: _Encoder, maps: list[Tensor], levels: int, name: str) -> list[Tensor]:
    seen = [layers.convolve(x, f"{name}.input_proj.{number}") for number, x in enumerate(maps[-levels:])]
    down = [layers.attend(seen.pop(), f"{name}.encoder.0.layers.0")]  # coarse to fine
    for number, fine in enumerate(reversed(seen)):
        down[-1] = layers.convolve(down[-1], f"{name}.lateral_convs.{number}")
        block = f"{name}.fpn_blocks.{number}"
        enlarged = keras.layers.UpSampling2D(name=f"{block}.up")(down[-1])
        down.append(layers.block(layers.together([enlarged, fine], block), block))
    up = [down.pop()]
    for number, coarse in enumerate(reversed(down)):
        block = f"{name}.pan_blocks.{number}"
        smaller = layers.smaller(up[-1], f"{name}.downsample_convs.{number}.0")
        up.append(layers.block(layers.together([smaller, coarse], block), block))
    return up


def _lite(layers: _Encoder, x: Tensor, name: str) -> list[Tensor]:
    fine = layers.convolve(x, f"{name}.input_proj.0")
    coarse = layers.pooled(fine, f"{name}.down_sample1")
    mean = keras.layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}.bi_fusion.mean")(coarse)
    coarse = keras.layers.Add(name=f"{name}.bi_fusion.add")([coarse, mean])
    coarse = layers.convolve(coarse, f"{name}.bi_fusion.cv", ACTIVATION)
    enlarged = keras.layers.UpSampling2D(name=f"{name}.fpn_block.up")(coarse)
    first, second = f"{name}.fpn_block", f"{name}.pan_block"
    fine = layers.block(layers.together([fine, enlarged], first), first)
    smaller = layers.pooled(fine, f"{name}.down_sample2")
    return [fine, layers.block(layers.together([coarse, smaller], second), second)]


def _gelu(x: Tensor) -> Tensor:
    """Keras' own takes an operation that ONNX has not."""
    return 0.5 * x * (1 + keras.ops.erf(x * 0.5**0.5))


def _places(rows: int, columns: int, channels: int) -> np.ndarray:
    """Return sines and cosines of row and column (rows * columns, channels)."""
    speeds = TEMPERATURE ** -(np.arange(channels // 4, dtype=np.float32) / (channels // 4))
    row, column = (place.reshape(-1, 1) * speeds for place in np.mgrid[:rows, :columns].astype(np.float32))
    return np.concatenate([np.sin(row), np.cos(row), np.sin(column), np.cos(column)], axis=1)
