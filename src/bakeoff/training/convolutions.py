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


class _Conv2D(keras.layers.Conv2D):
    def convolution_op(self, inputs: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return convolve_images(tf.convert_to_tensor(inputs), tf.convert_to_tensor(kernel))


class _Conv3D(keras.layers.Conv3D):
    def convolution_op(self, inputs: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return convolve_clips(tf.convert_to_tensor(inputs), tf.convert_to_tensor(kernel))


FAST = {keras.layers.Conv2D: _Conv2D, keras.layers.Conv3D: _Conv3D}


@tf.custom_gradient
def convolve_images(images: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """Return maps of the images' size."""

    def gradient(of_outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        of_kernel = tf.raw_ops.Conv2DBackpropFilter(
            input=images,
            filter_sizes=tf.shape(kernel),
            out_backprop=of_outputs,
            strides=[1, 1, 1, 1],
            padding="SAME",
        )
        return tf.nn.conv2d(of_outputs, _turn(kernel), 1, "SAME"), of_kernel

    return tf.nn.conv2d(images, kernel, 1, "SAME"), gradient


@tf.custom_gradient
def convolve_clips(clips: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """Return maps of the clips' size."""
    strides = [1, 1, 1, 1, 1]

    def gradient(of_outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        of_kernel = tf.raw_ops.Conv3DBackpropFilterV2(
            input=clips, filter_sizes=tf.shape(kernel), out_backprop=of_outputs, strides=strides, padding="SAME"
        )
        return tf.nn.conv3d(of_outputs, _turn(kernel), strides, "SAME"), of_kernel

    return tf.nn.conv3d(clips, kernel, strides, "SAME"), gradient


def _turn(kernel: tf.Tensor) -> tf.Tensor:
    """Return the kernel back to front along each side, with the channels of its output first."""
    sides = list(range(len(kernel.shape) - 2))
    turned = tf.reverse(kernel, [side for side in sides if kernel.shape[side] > 1])
    return tf.transpose(turned, [*sides, len(sides) + 1, len(sides)])
