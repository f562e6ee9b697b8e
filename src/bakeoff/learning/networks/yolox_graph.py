"""The Keras graph of `Yolox`: input -> backbone -> neck -> heads, with the paddings of the published one.

Its first layer there puts every second pixel into channels of its own and convolves these; one convolution of 6 x 6
computes the same (`pretrained/torch_files.py` turns the weights).
"""

import math
from typing import TYPE_CHECKING

import keras

from bakeoff.learning.networks.layers import Tensor, rows, to_pixels, to_unit_range
from bakeoff.learning.networks.norms import BatchNormalization

if TYPE_CHECKING:
    from bakeoff.learning.networks.yolox import Yolox

PRIOR = 0.01  # the score that every class starts from
EPSILON = 1e-3
POOLS = (5, 9, 13)  # pixels


class YoloxLayers:
    """Makes the layers of a detector, which share its settings."""

    def __init__(self, detector: "Yolox") -> None:
        self._detector = detector

    def channels(self, number: int) -> int:
        return max(1, int(number * self._detector.width))

    def pairs(self, number: int) -> int:
        return max(round(number * self._detector.depth), 1)

    def convolve(self, x: Tensor, filters: int, *, name: str, kernel: int = 1, strides: int = 1) -> Tensor:
        """Add a convolution that looks as far to each side, batch norm and activation."""
        x = _padded(x, kernel, strides, name)
        options = {"padding": "same" if strides == 1 else "valid", "use_bias": False, "name": f"{name}.conv"}
        return self._normalised(
            keras.layers.Conv2D(filters, kernel, strides, kernel_initializer=_start(), **options)(x), name
        )

    def look(self, x: Tensor, filters: int, *, name: str, strides: int = 1) -> Tensor:
        """Add a convolution of 3 x 3, or two of which the first looks at each channel by itself."""
        if not self._detector.depthwise:
            return self.convolve(x, filters, name=name, kernel=3, strides=strides)
        seen = _padded(x, 3, strides, name)
        options = {"padding": "same" if strides == 1 else "valid", "use_bias": False, "name": f"{name}.dconv.conv"}
        first = _start(alone=x.shape[-1])
        seen = keras.layers.DepthwiseConv2D(3, strides, depthwise_initializer=first, **options)(seen)
        return self.convolve(self._normalised(seen, f"{name}.dconv"), filters, name=f"{name}.pconv")

    def _normalised(self, x: Tensor, name: str) -> Tensor:
        momentum, activation = self._detector.batch_norm_momentum, self._detector.activation
        x = BatchNormalization(momentum=momentum, epsilon=EPSILON, name=f"{name}.bn")(x)
        return keras.layers.Activation(activation, name=f"{name}.{activation}")(x)

    def stage(self, x: Tensor, filters: int, *, name: str, pairs: int, adds: bool) -> Tensor:
        """Add a cross-stage partial block: one of two paths passes residual pairs of convolutions."""
        inner = filters // 2
        passing = self.convolve(x, inner, name=f"{name}.conv1")
        kept = self.convolve(x, inner, name=f"{name}.conv2")
        for number in range(pairs):
            pair = f"{name}.m.{number}"
            seen = self.look(self.convolve(passing, inner, name=f"{pair}.conv1"), inner, name=f"{pair}.conv2")
            passing = keras.layers.Add(name=f"{pair}.add")([seen, passing]) if adds else seen
        return self.convolve(_joined([passing, kept], name), filters, name=f"{name}.conv3")

    def pool(self, x: Tensor, filters: int, *, name: str) -> Tensor:
        """Look at neighbourhoods of three sizes beside each point's own."""
        x = self.convolve(x, x.shape[-1] // 2, name=f"{name}.conv1")
        pooled = [keras.layers.MaxPooling2D(side, 1, padding="same", name=f"{name}.m.{side}")(x) for side in POOLS]
        return self.convolve(_joined([x, *pooled], name), filters, name=f"{name}.conv2")


def build(detector: "Yolox", num_classes: int) -> keras.Model:
    image = keras.Input((detector.input_size, detector.input_size, 3), name="image")
    layers = YoloxLayers(detector)
    seen = to_pixels(to_unit_range(image))
    answers = [
        _answer(level, number, layers, num_classes)
        for number, level in enumerate(_neck(_backbone(seen, layers), layers))
    ]
    boxes, classes = zip(*answers, strict=True)
    outputs = {
        "boxes": rows(list(boxes), 4, name="boxes"),
        "classes": rows(list(classes), 1 + num_classes, name="classes"),
    }
    return keras.Model(image, outputs, name="yolox")


def _backbone(x: Tensor, layers: YoloxLayers) -> list[Tensor]:
    """Feature maps at strides 8, 16 and 32."""
    inside, first = "backbone.backbone", 64
    x = layers.convolve(x, layers.channels(first), kernel=6, strides=2, name=f"{inside}.stem.conv")
    levels = []
    for number, pairs in ((2, 3), (3, 9), (4, 9), (5, 3)):
        filters, name = layers.channels(first * 2 ** (number - 1)), f"{inside}.dark{number}"
        x = layers.look(x, filters, strides=2, name=f"{name}.0")
        is_last = number == 5
        if is_last:
            x = layers.pool(x, filters, name=f"{name}.1")
        x = layers.stage(x, filters, name=f"{name}.{1 + is_last}", pairs=layers.pairs(pairs), adds=not is_last)
        levels.append(x)
    return levels[1:]


def _neck(levels: list[Tensor], layers: YoloxLayers) -> list[Tensor]:
    """What the coarse levels see goes down to the fine ones, and what these see goes up again."""
    fine, middle, coarse = levels
    pairs, few, some, many = layers.pairs(3), *map(layers.channels, (256, 512, 1024))

    def merged(seen: list[Tensor], filters: int, name: str) -> Tensor:
        return layers.stage(_joined(seen, f"{name}.in"), filters, name=name, pairs=pairs, adds=False)

    def above(x: Tensor, name: str) -> Tensor:
        return keras.layers.UpSampling2D(name=f"{name}.up")(x)

    lateral = layers.convolve(coarse, some, name="backbone.lateral_conv0")
    down = merged([above(lateral, "backbone.lateral_conv0"), middle], some, "backbone.C3_p4")
    reduced = layers.convolve(down, few, name="backbone.reduce_conv1")
    finest = merged([above(reduced, "backbone.reduce_conv1"), fine], few, "backbone.C3_p3")
    below = layers.look(finest, few, strides=2, name="backbone.bu_conv2")
    between = merged([below, reduced], some, "backbone.C3_n3")
    below = layers.look(between, some, strides=2, name="backbone.bu_conv1")
    return [finest, between, merged([below, lateral], many, "backbone.C3_n4")]


def _answer(x: Tensor, number: int, layers: YoloxLayers, num_classes: int) -> tuple[Tensor, Tensor]:
    """Return the maps of boxes, and of an object and its classes."""
    filters = layers.channels(256)
    x = layers.convolve(x, filters, name=f"head.stems.{number}")
    paths = {}
    for kind in ("cls", "reg"):
        seen = x
        for place in range(2):
            seen = layers.look(seen, filters, name=f"head.{kind}_convs.{number}.{place}")
        paths[kind] = seen
    prior = keras.initializers.Constant(-math.log((1 - PRIOR) / PRIOR))

    def last(seen: Tensor, outputs: int, kind: str, bias: object) -> Tensor:
        name = f"head.{kind}_preds.{number}"
        layer = keras.layers.Conv2D(outputs, 1, name=name, kernel_initializer=_start(), bias_initializer=bias)
        return layer(seen)

    boxes, there = last(paths["reg"], 4, "reg", "zeros"), last(paths["reg"], 1, "obj", prior)
    return boxes, _joined([there, last(paths["cls"], num_classes, "cls", prior)], f"head.{number}")


def _joined(seen: list[Tensor], name: str) -> Tensor:
    return keras.layers.Concatenate(name=f"{name}.join")(seen)


def _padded(x: Tensor, kernel: int, strides: int, name: str) -> Tensor:
    """TensorFlow would pad an even number of pixels on one side only."""
    if strides == 1:
        return x
    return keras.layers.ZeroPadding2D((kernel - 1) // 2, name=f"{name}.pad")(x)


def _start(alone: int = 1) -> keras.initializers.Initializer:
    """Return the published start of kernels; Keras counts all `alone` channels of which a kernel sees one."""
    return keras.initializers.VarianceScaling(alone / 3, "fan_in", "uniform")
