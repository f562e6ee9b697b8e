"""Convolutions that train faster on a CPU: the gradient of the input is computed as a convolution of its own.

The gradient of a convolution's input is the convolution of the output's gradient with the turned kernel, whose channels
have changed places. TensorFlow's own operation for it takes up to three times as long as that convolution on a CPU:
what it spends on top grows with the kernel, and a second thread does not shorten it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import keras
import tensorflow as tf

Gradient = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


@contextmanager
def fast_gradients(network: keras.Model) -> Iterator[None]:
    """In the block, the network's convolutions of stride 1 have the fast gradient. Other layers stay as they are."""
    layers = network._flatten_layers()
    convolutions = [(layer, type(layer)) for layer in layers if type(layer) in FAST and _is_plain(layer)]
    for layer, kind in convolutions:
        layer.__class__ = FAST[kind]
    try:
        yield
    finally:
        for layer, kind in convolutions:
            layer.__class__ = kind


def _is_plain(layer: keras.layers.Layer) -> bool:
    """Say whether padding is the same on both sides, and every number of the output has a place in the input."""
    sides = layer.kernel_size
    fits = (layer.padding == "same" and all(side % 2 for side in sides)) or set(sides) == {1}
    ones = {*layer.strides, *layer.dilation_rate, layer.groups}
    return fits and ones == {1} and layer.data_format == "channels_last"


class _Fast:
    def convolution_op(self, inputs: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return convolve(tf.convert_to_tensor(inputs), tf.convert_to_tensor(kernel))


class _Conv2D(_Fast, keras.layers.Conv2D):
    pass


class _Conv3D(_Fast, keras.layers.Conv3D):
    pass


FAST = {keras.layers.Conv2D: _Conv2D, keras.layers.Conv3D: _Conv3D}
GRADIENT_OF_KERNEL = {4: tf.raw_ops.Conv2DBackpropFilter, 5: tf.raw_ops.Conv3DBackpropFilterV2}  # by rank


@tf.custom_gradient
def convolve(inputs: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """Return maps of the size of the images or clips."""
    rank = len(kernel.shape)

    def gradient(of_outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        of_kernel = GRADIENT_OF_KERNEL[rank](
            input=inputs, filter_sizes=tf.shape(kernel), out_backprop=of_outputs, strides=[1] * rank, padding="SAME"
        )
        return tf.nn.convolution(of_outputs, _turn(kernel), padding="SAME"), of_kernel

    return tf.nn.convolution(inputs, kernel, padding="SAME"), gradient


def _turn(kernel: tf.Tensor) -> tf.Tensor:
    """Return the kernel back to front along each side, with the channels of its output first."""
    sides = list(range(len(kernel.shape) - 2))
    if long := [side for side in sides if kernel.shape[side] > 1]:
        kernel = tf.reverse(kernel, long)
    return tf.transpose(kernel, [*sides, len(sides) + 1, len(sides)])
