"""The Keras graph of `PointDetector`: input -> backbone -> neck -> heads."""

import math
from typing import TYPE_CHECKING

import keras
import numpy as np

from bakeoff.learning.networks.layers import Tensor, channels, rows, to_unit_range
from bakeoff.learning.networks.norms import BatchNormalization

if TYPE_CHECKING:
    from bakeoff.learning.networks.point_detector import PointDetector

PRIOR = 0.01  # the score that every class starts from
FIRST_DISTANCE = 2.0  # strides, about: how far the sides of every box are away at the start
STAGES = {4: 128, 8: 256, 16: 512, 32: 1024}  # stride -> channels, times the width
NECK = 256  # channels of each of its levels and of the heads, times the width
POOL = 5  # pixels; three times in a row it sees 5, 9 and 13


class Layers:
    """Makes the layers of a detector, which share its settings."""

    def __init__(self, detector: "PointDetector") -> None:
        self._detector = detector

    def convolve(self, x: Tensor, filters: int, *, name: str, kernel: int = 1, strides: int = 1) -> Tensor:
        return self.normalise(self.convolution(filters, name=f"{name}.conv", kernel=kernel, strides=strides)(x), name)

    def convolution(self, filters: int, *, name: str, kernel: int = 3, strides: int = 1) -> keras.layers.Layer:
        options = {"padding": "same", "use_bias": False, "kernel_initializer": "he_normal"}
        return keras.layers.Conv2D(filters, kernel, strides, name=name, **options)

    def normalise(self, x: Tensor, name: str) -> Tensor:
        """Add batch norm and activation."""
        x = BatchNormalization(momentum=self._detector.batch_norm_momentum, name=f"{name}.norm")(x)
        return keras.layers.Activation(self._detector.activation, name=f"{name}.{self._detector.activation}")(x)

    def partial_stage(self, x: Tensor, *, name: str, pairs: int, adds: bool) -> Tensor:
        """Add a cross-stage partial block: half of the channels pass pairs of convolutions, all meet at the end."""
        filters = x.shape[-1]
        kept, passing = keras.ops.split(x, 2, axis=-1)
        seen = [kept, passing]
        for number in range(pairs):
            pair = f"{name}.pair{number}"
            inner = self.convolve(seen[-1], filters // 2, kernel=3, name=f"{pair}.first")
            inner = self.convolve(inner, filters // 2, kernel=3, name=f"{pair}.second")
            seen.append(keras.layers.Add(name=f"{pair}.add")([seen[-1], inner]) if adds else inner)
        return self.convolve(keras.layers.Concatenate(name=f"{name}.all")(seen), filters, name=f"{name}.out")

    def pool(self, x: Tensor, *, name: str) -> Tensor:
        """Look at neighbourhoods of three sizes beside each point's own."""
        filters = x.shape[-1]
        seen = [self.convolve(x, filters // 2, name=f"{name}.in")]
        for number in range(3):
            seen.append(keras.layers.MaxPooling2D(POOL, 1, padding="same", name=f"{name}.pool{number}")(seen[-1]))
        return self.convolve(keras.layers.Concatenate(name=f"{name}.all")(seen), filters, name=f"{name}.out")


def build(detector: "PointDetector", num_classes: int) -> keras.Model:
    image = keras.Input((detector.input_size, detector.input_size, 3), name="image")
    layers = Layers(detector)
    levels = _neck(_backbone(to_unit_range(image), detector, layers), detector, layers)
    boxes = _head(levels, detector, layers, name="head.boxes", last=_last_of_boxes(detector))
    classes = _head(levels, detector, layers, name="head.classes", last=_last_of_classes(num_classes))
    outputs = {
        "boxes": rows(boxes, 4 * detector.bins, name="boxes"),
        "classes": rows(classes, num_classes, name="classes"),
    }
    return keras.Model(image, outputs, name="point_detector")


def _backbone(x: Tensor, detector: "PointDetector", layers: Layers) -> list[Tensor]:
    """Feature maps at strides 8, 16 and 32."""
    reached = detector.first_stride
    kernel = 3 if reached == 2 else reached
    x = layers.convolve(x, channels(32 * reached, detector.width), kernel=kernel, strides=reached, name="backbone.stem")
    levels = []
    for stride, number in STAGES.items():
        name = f"backbone.stride{stride}"
        filters = channels(min(number, detector.most_channels), detector.width)
        if stride > reached:
            x = layers.convolve(x, filters, kernel=3, strides=2, name=f"{name}.down")
            x = layers.partial_stage(x, name=name, pairs=detector.depth, adds=True)
            levels.append(x)
    return [*levels[-3:-1], layers.pool(levels[-1], name="backbone.pool")]


def _neck(levels: list[Tensor], detector: "PointDetector", layers: Layers) -> list[Tensor]:
    """What the coarse levels see goes down to the fine ones, and what these see goes up again."""
    filters = channels(NECK, detector.width)
    strides = detector.strides

    def merged(seen: list[Tensor], name: str) -> Tensor:
        x = layers.convolve(keras.layers.Concatenate(name=f"{name}.join")(seen), filters, name=f"{name}.in")
        return layers.partial_stage(x, name=name, pairs=1, adds=False)

    down = [layers.convolve(levels[-1], filters, name=f"neck.stride{strides[-1]}.in")]
    for stride, side in list(zip(strides, levels, strict=True))[-2::-1]:
        above = keras.layers.UpSampling2D(name=f"neck.stride{stride}.up")(down[0])
        down.insert(0, merged([above, side], f"neck.stride{stride}.down"))
    up = [down[0]]
    for stride, level in list(zip(strides, down, strict=True))[1:]:
        below = layers.convolve(up[-1], filters, kernel=3, strides=2, name=f"neck.stride{stride}.below")
        up.append(merged([below, level], f"neck.stride{stride}.up"))
    return up


def _head(
    levels: list[Tensor], detector: "PointDetector", layers: Layers, *, name: str, last: keras.layers.Layer
) -> list[Tensor]:
    """The same weights read every level; batch norms are each level's own, for their statistics differ."""
    filters = channels(NECK, detector.width)
    shared = [layers.convolution(filters, name=f"{name}.conv{number}") for number in range(detector.head_convolutions)]
    answers = []
    for stride, x in zip(detector.strides, levels, strict=True):
        for number, layer in enumerate(shared):
            x = layers.normalise(layer(x), f"{name}.stride{stride}.norm{number}")
        answers.append(last(x))
    return answers


def _last_of_boxes(detector: "PointDetector") -> keras.layers.Layer:
    """Start from distances whose probability falls by the same factor from bin to bin."""
    falling = -np.arange(detector.bins, dtype=np.float32) * math.log(1 + 1 / FIRST_DISTANCE)
    bias = keras.initializers.Constant(np.tile(falling, 4))
    return keras.layers.Conv2D(4 * detector.bins, 1, bias_initializer=bias, name="head.boxes")


def _last_of_classes(num_classes: int) -> keras.layers.Layer:
    bias = keras.initializers.Constant(-math.log((1 - PRIOR) / PRIOR))
    start = keras.initializers.RandomNormal(stddev=0.01)
    return keras.layers.Conv2D(num_classes, 1, kernel_initializer=start, bias_initializer=bias, name="head.classes")
