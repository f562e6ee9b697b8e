"""Pieces of the graphs of the SSD detectors, as functions on Keras tensors."""

import keras

from bakeoff.networks.blocks import Tensor
from bakeoff.networks.convolutions import Convolutions

ACTIVATIONS = {"relu6": 6.0, "relu": None}  # where ReLU ends


def initializer(rule: Convolutions) -> keras.initializers.Initializer:
    """A new one for every kernel: one object draws the same numbers each time."""
    kinds = {"random_normal": keras.initializers.RandomNormal, "truncated_normal": keras.initializers.TruncatedNormal}
    return kinds[rule.initializer](stddev=rule.initial_deviation)


def regularizer(rule: Convolutions) -> keras.regularizers.Regularizer | None:
    return keras.regularizers.L2(rule.l2_weight / 2) if rule.l2_weight else None


def convolution_layer(
    filters: int, rule: Convolutions, *, name: str, kernel: int = 1, strides: int = 1, depthwise: bool = False
) -> keras.layers.Layer:
    """Without bias, for a norm to follow; it may be called on several maps."""
    shape = {"kernel_size": kernel, "strides": strides, "padding": "same", "use_bias": False, "name": name}
    if depthwise:
        return keras.layers.SeparableConv2D(
            filters,
            depthwise_initializer=initializer(rule),
            depthwise_regularizer=regularizer(rule),
            pointwise_regularizer=regularizer(rule),
            **shape,
        )
    return keras.layers.Conv2D(
        filters, kernel_initializer=initializer(rule), kernel_regularizer=regularizer(rule), **shape
    )


def normalised(x: Tensor, rule: Convolutions, *, name: str) -> Tensor:
    """Batch norm and activation."""
    momentum, epsilon = rule.batch_norm_momentum, rule.batch_norm_epsilon
    x = keras.layers.BatchNormalization(momentum=momentum, epsilon=epsilon, name=f"{name}.norm")(x)
    return keras.layers.ReLU(ACTIVATIONS[rule.activation], name=f"{name}.relu")(x)


def convolved(
    x: Tensor,
    filters: int,
    rule: Convolutions,
    *,
    name: str,
    kernel: int = 1,
    strides: int = 1,
    depthwise: bool = False,
) -> Tensor:
    """Convolution, batch norm, activation."""
    layer = convolution_layer(filters, rule, name=f"{name}.conv", kernel=kernel, strides=strides, depthwise=depthwise)
    return normalised(layer(x), rule, name=name)


def depthwise_convolved(x: Tensor, rule: Convolutions, *, name: str, kernel: int = 3, strides: int = 1) -> Tensor:
    """Depthwise convolution, batch norm, activation."""
    layer = keras.layers.DepthwiseConv2D(
        kernel,
        strides,
        padding="same",
        use_bias=False,
        depthwise_initializer=initializer(rule),
        depthwise_regularizer=regularizer(rule),
        name=f"{name}.conv",
    )
    return normalised(layer(x), rule, name=name)


def rows(maps: list[Tensor], numbers: int, *, name: str) -> Tensor:
    """Maps with `numbers` channels for each anchor of a cell -> one row for each anchor, in full precision."""
    parts = [keras.layers.Reshape((-1, numbers))(x) for x in maps]
    return keras.layers.Concatenate(axis=1, dtype="float32", name=name)(parts)
