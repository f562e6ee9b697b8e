"""The Keras graph of `Ssd`: input -> backbone -> pyramid -> heads."""

import math
from typing import TYPE_CHECKING

import keras

from bakeoff.learning.networks.layers import Tensor, channels, convolve, rows, to_unit_range
from bakeoff.learning.networks.norms import BatchNormalization

if TYPE_CHECKING:
    from bakeoff.learning.networks.ssd import Ssd

PRIOR = 0.01  # the score that every class starts from, so that the many empty anchors don't drown the first steps


def build(ssd: "Ssd", num_classes: int) -> keras.Model:
    image = keras.Input((ssd.input_size, ssd.input_size, 3), name="image")
    levels = _pyramid(_backbone(to_unit_range(image), ssd), ssd)
    boxes, classes = _heads(levels, ssd, num_classes)
    return keras.Model(image, {"boxes": boxes, "classes": classes}, name="ssd")


def _backbone(x: Tensor, ssd: "Ssd") -> list[Tensor]:
    """Feature maps at strides 8, 16 and 32."""

    def stage(x: Tensor, name: str, number: int, kernel: int = 3, strides: int = 1) -> Tensor:
        filters = channels(number, ssd.width)
        return convolve(x, filters, kernel=kernel, strides=strides, momentum=ssd.batch_norm_momentum, name=name)

    x = stage(x, "backbone.stem", 24, kernel=4, strides=4)
    x = stage(x, "backbone.stride4", 32)
    levels = []
    for stride, filters in zip(ssd.strides, (64, 128, 128), strict=True):
        x = stage(x, f"backbone.stride{stride}.down", filters, strides=2)
        x = stage(x, f"backbone.stride{stride}.refine", filters)
        levels.append(x)
    return levels


def _pyramid(levels: list[Tensor], ssd: "Ssd") -> list[Tensor]:
    """Each level gets the coarser ones' view of its surroundings, added from above."""
    top = None
    merged = []
    for stride, level in reversed(list(zip(ssd.strides, levels, strict=True))):
        name = f"pyramid.stride{stride}"
        side = keras.layers.Conv2D(ssd.pyramid_channels, 1, name=f"{name}.lateral")(level)
        if top is not None:
            side = keras.layers.Add(name=f"{name}.add")([side, keras.layers.UpSampling2D(name=f"{name}.up")(top)])
        top = side
        merged.append(convolve(side, ssd.pyramid_channels, momentum=ssd.batch_norm_momentum, name=f"{name}.smooth"))
    return merged[::-1]


def _heads(levels: list[Tensor], ssd: "Ssd", num_classes: int) -> tuple[Tensor, Tensor]:
    """The same weights read every level; batch norms are each level's own, for their statistics differ."""
    per_cell = ssd.anchors.per_cell
    bias = keras.initializers.Constant(-math.log((1 - PRIOR) / PRIOR))
    to_boxes = keras.layers.Conv2D(per_cell * 4, 3, padding="same", name="head.boxes")
    to_classes = keras.layers.Conv2D(
        per_cell * ssd.loss.outputs(num_classes), 3, padding="same", bias_initializer=bias, name="head.classes"
    )
    shared = [
        keras.layers.Conv2D(ssd.pyramid_channels, 3, padding="same", use_bias=False, name=f"head.conv{number}")
        for number in range(ssd.head_convolutions)
    ]
    boxes, classes = [], []
    for stride, x in zip(ssd.strides, levels, strict=True):
        for number, layer in enumerate(shared):
            name, momentum = f"head.stride{stride}.norm{number}", ssd.batch_norm_momentum
            x = keras.layers.ReLU()(BatchNormalization(momentum=momentum, name=name)(layer(x)))
        boxes.append(to_boxes(x))
        classes.append(to_classes(x))
    answers = ssd.loss.outputs(num_classes)
    return rows(boxes, 4, name="boxes"), rows(classes, answers, name="classes")
