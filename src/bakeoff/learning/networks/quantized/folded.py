"""Layers with weights as the file of eight bits has them: the batch norm behind them in kernel and bias, both rounded.

The statistics of the norm stay as they are. Its `gamma` and `beta` learn on, with the kernel.
"""

from typing import Literal, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.networks.quantized.ranges import FakeQuantize, round_straight, scale_of_weights

Weights: TypeAlias = tuple[tf.Tensor, tf.Tensor | None]  # kernel, bias
Norm: TypeAlias = keras.layers.BatchNormalization
Kernel: TypeAlias = Literal["kernel", "depthwise_kernel", "pointwise_kernel"]


class Folded(keras.layers.Layer):
    """A convolution or dense layer of the network, called with rounded weights. The variables are those of the network.

    Of a separable convolution it is one of the two. `constant`: the weights go into a graph as numbers, as files have
    them.
    """

    def __init__(
        self, name: str, layer: keras.Layer, norm: Norm | None, before: FakeQuantize, *,
        kernel: Kernel = "kernel", constant: bool,
    ) -> None:  # fmt: skip
        """`before` is what rounded the map that comes in: sums count in its steps."""
        super().__init__(name=name, dtype="float32")
        # Hidden from Keras, which would count their variables twice.
        self._parts = lambda: (layer, norm)
        self._before = lambda: before
        self._kernel, self._constant = kernel, constant

    @property
    def is_depthwise(self) -> bool:
        return self._kernel == "depthwise_kernel" or isinstance(self._parts()[0], keras.layers.DepthwiseConv2D)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        kernel, bias = self._as_numbers() if self._constant else self.weights_as_rounded()
        outputs = self._apply(inputs, kernel)
        return outputs if bias is None else tf.nn.bias_add(outputs, bias)

    def _as_numbers(self) -> Weights:
        with tf.init_scope():
            kernel, bias = (None if part is None else part.numpy() for part in self.weights_as_rounded())
        if bias is not None and len(bias) > 1 and (bias == bias[0]).all():
            # Of equal numbers TensorFlow Lite's converter keeps one, and gives it the first channel's scale (2.21).
            bias[0] = np.nextafter(bias[0], np.float32(0))
        return tf.constant(kernel), bias

    def weights_as_rounded(self) -> Weights:
        layer, norm = self._parts()
        kernel = tf.convert_to_tensor(getattr(layer, self._kernel))
        has_bias = layer.use_bias and self._kernel != "depthwise_kernel"
        bias = tf.convert_to_tensor(layer.bias) if has_bias else None
        if norm is not None:
            factor, bias = _fold(bias, norm)
            kernel = kernel * (tf.reshape(factor, kernel.shape[2:]) if self.is_depthwise else factor)
        shape = kernel.shape  # of a depthwise one (h, w, c, m), of which both of the last are channels
        flat = tf.reshape(kernel, [*shape[:2], shape[2] * shape[3]]) if self.is_depthwise else kernel
        scale = scale_of_weights(flat)
        if bias is not None:
            bias = round_straight(bias, scale * self._before().scale)
        return tf.reshape(round_straight(flat, scale), shape), bias

    def _apply(self, inputs: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        layer, _ = self._parts()
        if isinstance(layer, keras.layers.Dense):
            return tf.matmul(inputs, kernel)
        if self._kernel == "pointwise_kernel":
            return tf.nn.conv2d(inputs, kernel, 1, "VALID")
        if self.is_depthwise:
            return keras.ops.depthwise_conv(
                inputs, kernel, strides=layer.strides, padding=layer.padding, dilation_rate=layer.dilation_rate
            )
        return layer.convolution_op(inputs, kernel)


def _fold(bias: tf.Tensor | None, norm: Norm) -> tuple[tf.Tensor, tf.Tensor]:
    """Return what the norm does: times a factor, plus a shift."""
    factor = tf.math.rsqrt(tf.convert_to_tensor(norm.moving_variance) + norm.epsilon)
    if norm.scale:
        factor = factor * tf.convert_to_tensor(norm.gamma)
    mean = tf.convert_to_tensor(norm.moving_mean)
    shift = (-mean if bias is None else bias - mean) * factor
    return factor, shift + tf.convert_to_tensor(norm.beta) if norm.center else shift
