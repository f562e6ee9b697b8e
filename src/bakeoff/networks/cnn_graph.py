"""The Keras graphs of `Cnn` and `ClipCnn`: input -> stages -> pooled features -> logits."""

from functools import partial
from typing import TYPE_CHECKING

import keras

from bakeoff.networks.blocks import Tensor, channels, convolution, to_unit_range
from bakeoff.networks.cnn import CHANNELS, STRIDES

if TYPE_CHECKING:
    from bakeoff.networks.cnn import ClipCnn, Cnn


def of_images(settings: "Cnn", num_classes: int) -> keras.Model:
    image = keras.Input((settings.input_size, settings.input_size, 3), name="image")
    block = partial(convolution, momentum=settings.batch_norm_momentum)
    x = block(to_unit_range(image), channels(16, settings.width), name="backbone.stem")
    for number, (stride, filters) in enumerate(zip(STRIDES, CHANNELS, strict=True), start=1):
        width = channels(filters, settings.width)
        x = block(x, width, strides=stride, name=f"backbone.stage{number}.down")
        x = block(x, width, name=f"backbone.stage{number}.refine")
    x = keras.layers.GlobalAveragePooling2D(name="head.pool")(x)
    return keras.Model(image, {"classes": _logits(x, settings.dropout, num_classes)}, name="cnn")


def of_clips(settings: "ClipCnn", num_classes: int) -> keras.Model:
    clip = keras.Input((settings.frames, settings.input_size, settings.input_size, 3), name="clip")
    block = partial(convolution, momentum=settings.batch_norm_momentum)
    x = to_unit_range(clip)
    for number, (stride, filters) in enumerate(zip(STRIDES, CHANNELS, strict=True), start=1):
        width = channels(filters // 2, settings.width)
        x = block(x, width, kernel=(1, 3, 3), strides=(1, stride, stride), name=f"backbone.stage{number}.space")
        x = block(x, width, kernel=(3, 1, 1), name=f"backbone.stage{number}.time")
    x = keras.layers.GlobalAveragePooling3D(name="head.pool")(x)
    return keras.Model(clip, {"classes": _logits(x, settings.dropout, num_classes)}, name="clip_cnn")


def _logits(x: Tensor, dropout: float, num_classes: int) -> Tensor:
    x = keras.layers.Dropout(dropout, name="head.dropout")(x)
    return keras.layers.Dense(num_classes, name="classes")(x)
