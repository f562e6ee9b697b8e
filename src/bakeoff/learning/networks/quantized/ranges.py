"""Numbers of eight bits, simulated: of weights per output channel, of maps per tensor in ranges that are learnt.

A range is the least and the greatest of 256 values at equal distances, one of which is 0. Weights have 255, from -127
to 127 times their scale.
"""

from collections.abc import Callable
from math import prod

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.networks.quantized.scales import LAYER, LEAST, LEVELS, WEIGHT_LEVELS

FIRST = (-1.0, 1.0)  # of a range that nothing is known of yet

Gradient = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


class Ranges(keras.layers.Layer):
    """The ranges of all maps, (n, 2) least and greatest, and whether the network rounds to them yet."""

    def __init__(self, count: int) -> None:
        super().__init__(name=LAYER, dtype="float32")
        start = keras.initializers.Constant(np.tile(np.array(FIRST, np.float32), [count, 1]))
        self.ends = self.add_weight(name="ends", shape=(count, 2), initializer=start)
        self.active = self.add_weight(name="active", shape=(), initializer="zeros", trainable=False)
        self.built = True

    @property
    def is_active(self) -> bool:
        """Look at the variable now, also while a graph is made."""
        with tf.init_scope():
            return bool(self.active.numpy())


class FakeQuantize(keras.layers.Layer):
    """Rounds a map to the 256 values of its range, which is one of `ranges` or fixed."""

    def __init__(self, name: str, *, fixed: tuple[float, float] | None = None) -> None:
        super().__init__(name=name, dtype="float32")
        self.fixed = fixed
        self._find: Callable[[], tf.Tensor] | None = None
        self.seen: list[tf.Tensor] | None = None  # least and greatest of each map, while the network is only watched

    def take(self, ranges: Ranges, number: int, *, constant: bool = False) -> None:
        """Take the range from the network's variable, or as it is now, moved so that one of its values is exactly 0."""
        if not constant:
            self._find = lambda: tf.convert_to_tensor(ranges.ends)[number]
            return
        least, greatest = (float(end) for end in _widened(tf.convert_to_tensor(ranges.ends)[number]).numpy())
        scale = (greatest - least) / LEVELS
        zero = round(-least / scale)
        self.fixed = -zero * scale, (LEVELS - zero) * scale

    @property
    def scale(self) -> tf.Tensor:
        """Return one step of the range."""
        ends = tf.constant(self.fixed or FIRST) if self._find is None else _widened(self._find())
        return (ends[1] - ends[0]) / LEVELS

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        if self._find is None:
            least, greatest = self.fixed or FIRST
            return tf.quantization.fake_quant_with_min_max_args(inputs, least, greatest)
        if self.seen is not None:
            self.seen.append(tf.stack([tf.reduce_min(inputs), tf.reduce_max(inputs)]))
            return inputs
        return round_to_range(inputs, self._find())

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape


def _widened(ends: tf.Tensor) -> tf.Tensor:
    """Return the ends with 0 between them, and some way apart."""
    least = tf.minimum(ends[0], 0.0)
    return tf.stack([least, tf.maximum(tf.maximum(ends[1], 0.0), least + LEAST)])


@tf.custom_gradient
def round_to_range(inputs: tf.Tensor, ends: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """Round to 256 values. Inside, the gradient goes through; the ends get that of LSQ+ (arXiv:2004.09576).

    A value outside moves the end where it is cut off. One inside moves both by how much it was rounded, for wider
    steps round more. As in LSQ (arXiv:1902.08153) that is divided by the root of how many numbers a map has.
    """
    least, greatest = tf.unstack(_widened(ends))
    outputs = tf.quantization.fake_quant_with_min_max_vars(inputs, least, greatest)

    def gradient(above: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        low, high = inputs < least, inputs > greatest
        zero = tf.zeros_like(above)
        inside = tf.where(low | high, zero, above)
        rounded = tf.reduce_sum(inside * (outputs - inputs)) / (greatest - least)
        of_least = tf.reduce_sum(tf.where(low, above, zero)) - rounded
        of_greatest = tf.reduce_sum(tf.where(high, above, zero)) + rounded
        size = prod(side for side in inputs.shape[1:] if side) * LEVELS
        return inside, tf.stack([of_least, of_greatest]) / size**0.5

    return outputs, gradient


def scale_of_weights(kernel: tf.Tensor) -> tf.Tensor:
    """Return the scale of each channel, the last axis, by which the greatest weight is 127."""
    greatest = tf.reduce_max(tf.abs(kernel), axis=list(range(len(kernel.shape) - 1)))
    return tf.maximum(greatest, LEAST) / WEIGHT_LEVELS


def round_straight(values: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """Round to whole numbers of the scale; the gradient goes straight through."""
    rounded = tf.round(values / scale) * scale
    return tf.stop_gradient(rounded) + (values - tf.stop_gradient(values))
