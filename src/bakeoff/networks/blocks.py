"""Pieces that several networks are built from, as functions on Keras tensors."""

from typing import TypeAlias

import keras

Tensor: TypeAlias = keras.KerasTensor


def channels(number: int, width: float) -> int:
    """`number` channels times a width multiplier, as a multiple of 8, at least 8."""
    return max(8, int(number * width / 8 + 0.5) * 8)


def convolution(
    x: Tensor,
    filters: int,
    *,
    name: str,
    momentum: float,
    kernel: int | tuple[int, int, int] = 3,
    strides: int | tuple[int, int, int] = 1,
) -> Tensor:
    """Convolution, batch norm, ReLU; works on images and, with a triple `kernel`, on clips."""
    layer = keras.layers.Conv3D if isinstance(kernel, tuple) else keras.layers.Conv2D
    x = layer(
        filters,
        kernel,
        strides,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        name=f"{name}.conv",
    )(x)
    x = keras.layers.BatchNormalization(momentum=momentum, name=f"{name}.norm")(x)
    return keras.layers.ReLU(name=f"{name}.relu")(x)


def to_unit_range(x: Tensor) -> Tensor:
    """0..255 -> -1..1, inside the network, so that nobody who runs it has to know."""
    return keras.layers.Rescaling(1 / 127.5, offset=-1.0, name="to_unit_range")(x)
