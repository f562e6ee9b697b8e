"""Pieces that several networks are built from, as functions on Keras tensors."""

from typing import TypeAlias

import keras

from bakeoff.learning.networks.detector_settings import Convolutions
from bakeoff.learning.networks.norms import BatchNorm, BatchNormalization

Tensor: TypeAlias = keras.KerasTensor
Sides: TypeAlias = int | tuple[int, int, int]  # one for both sides of an image, or time, height and width
FIRST_LAYER, PIXELS_LAYER = "to_unit_range", "to_pixels"
HALF_RANGE = 127.5
ACTIVATIONS = {"relu6": 6.0, "relu": None}  # where ReLU ends


def channels(number: int, width: float) -> int:
    """Return `number` channels times a width multiplier, as a multiple of 8, at least 8."""
    return max(8, int(number * width / 8 + 0.5) * 8)


def to_unit_range(x: Tensor) -> Tensor:
    """Scale 0..255 to -1..1 inside the network, so that nobody who runs it has to know."""
    return keras.layers.Rescaling(1 / HALF_RANGE, offset=-1.0, name=FIRST_LAYER)(x)


def to_pixels(x: Tensor) -> Tensor:
    """Scale -1..1 back, for weights that were trained on pixels."""
    return keras.layers.Rescaling(HALF_RANGE, offset=HALF_RANGE, name=PIXELS_LAYER)(x)


def convolve(x: Tensor, filters: int, *, name: str, momentum: float, kernel: Sides = 3, strides: Sides = 1) -> Tensor:
    """Add a convolution, batch norm and ReLU; works on images and, with a triple `kernel`, on clips."""
    layer = keras.layers.Conv3D if isinstance(kernel, tuple) else keras.layers.Conv2D
    options = {"padding": "same", "use_bias": False, "kernel_initializer": "he_normal"}
    x = layer(filters, kernel, strides, name=f"{name}.conv", **options)(x)
    x = BatchNormalization(momentum=momentum, name=f"{name}.norm")(x)
    return keras.layers.ReLU(name=f"{name}.relu")(x)


def rows(maps: list[Tensor], numbers: int, *, name: str) -> Tensor:
    """Return one row for each anchor, in full precision, from maps with `numbers` channels for each of a cell."""
    parts = [keras.layers.Reshape((-1, numbers))(x) for x in maps]
    return keras.layers.Concatenate(axis=1, dtype="float32", name=name)(parts)


def initializer(rule: Convolutions) -> keras.initializers.Initializer:
    """Return a new one for every kernel: one object draws the same numbers each time."""
    kinds = {"random_normal": keras.initializers.RandomNormal, "truncated_normal": keras.initializers.TruncatedNormal}
    return kinds[rule.initializer](stddev=rule.initial_deviation)


def regularizer(rule: Convolutions) -> keras.regularizers.Regularizer | None:
    return keras.regularizers.L2(rule.l2_weight / 2) if rule.l2_weight else None


def convolution_layer(
    filters: int, rule: Convolutions, *, name: str, kernel: int = 1, strides: int = 1, depthwise: bool = False
) -> keras.layers.Layer:
    """Return a layer without bias, for a norm to follow; it may be called on several maps."""
    shape = {"kernel_size": kernel, "strides": strides, "padding": "same", "use_bias": False, "name": name}
    if depthwise:
        return keras.layers.SeparableConv2D(
            filters, depthwise_initializer=initializer(rule), depthwise_regularizer=regularizer(rule), **shape
        )
    return keras.layers.Conv2D(
        filters, kernel_initializer=initializer(rule), kernel_regularizer=regularizer(rule), **shape
    )


def answer_layer(filters: int, rule: Convolutions, *, name: str, kernel: int, bias: float) -> keras.layers.Layer:
    """Return the last layer of a head, whose answers begin at `bias`."""
    return keras.layers.Conv2D(
        filters,
        kernel,
        padding="same",
        kernel_initializer=initializer(rule),
        kernel_regularizer=regularizer(rule),
        bias_initializer=keras.initializers.Constant(bias),
        name=name,
    )


def normalise(x: Tensor, rule: Convolutions, *, name: str) -> Tensor:
    """Add batch norm and activation."""
    momentum, epsilon = rule.batch_norm_momentum, rule.batch_norm_epsilon
    x = BatchNorm(momentum=momentum, epsilon=epsilon, name=f"{name}.norm")(x)
    return keras.layers.ReLU(ACTIVATIONS[rule.activation], name=f"{name}.relu")(x)


def convolve_by_rule(
    x: Tensor,
    filters: int,
    rule: Convolutions,
    *,
    name: str,
    kernel: int = 1,
    strides: int = 1,
    depthwise: bool = False,
) -> Tensor:
    """Add a convolution, batch norm and activation."""
    layer = convolution_layer(filters, rule, name=f"{name}.conv", kernel=kernel, strides=strides, depthwise=depthwise)
    return normalise(layer(x), rule, name=name)


def convolve_depthwise(x: Tensor, rule: Convolutions, *, name: str, kernel: int = 3, strides: int = 1) -> Tensor:
    """Add a depthwise convolution, batch norm and activation; the kernel starts and is kept as Keras does by itself."""
    layer = keras.layers.DepthwiseConv2D(kernel, strides, padding="same", use_bias=False, name=f"{name}.conv")
    return normalise(layer(x), rule, name=name)
