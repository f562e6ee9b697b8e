"""Moving averages of the weights, which are validated and kept where train.ema_decay asks for them."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import keras
import numpy as np
import tensorflow as tf


class Average:
    """Averages of the weights of a network, side by side in one variable of each type.

    So a step takes a few operations for all of them, and nothing needs the network twice.
    """

    def __init__(self, network: keras.Model, decay: float) -> None:
        self._network, self._decay = network, decay
        self._together: dict[tf.DType, list[int]] = {}  # which weights, by their type
        for number, weight in enumerate(network.weights):
            self._together.setdefault(weight.value.dtype, []).append(number)
        self._shapes = [tuple(weight.shape) for weight in network.weights]
        self._variables = {
            dtype: tf.Variable(tf.zeros([sum(map(self._size, numbers))], dtype), trainable=False)
            for dtype, numbers in self._together.items()
        }

    @property
    def variables(self) -> list[tf.Variable]:
        return list(self._variables.values())

    def begin(self) -> None:
        """Start from the weights as they are."""
        self.assign([weight.value for weight in self._network.weights])

    def follow(self, steps: tf.Tensor, strategy: tf.distribute.Strategy) -> None:
        """After a step, of which there were `steps`."""
        steps = tf.cast(steps, tf.float32)
        share = 1 - tf.minimum(self._decay, (1 + steps) / (10 + steps))
        weights = self._network.weights  # Keras gathers them at each call
        for dtype, numbers in self._together.items():
            now = [weights[number].value for number in numbers]
            strategy.extended.update(self._variables[dtype], _approach, args=(now, share), group=False)

    def values(self) -> list[tf.Tensor]:
        """Return the averages as they are now, in the order of the weights."""
        values: dict[int, tf.Tensor] = {}
        for dtype, numbers in self._together.items():
            parts = tf.split(self._variables[dtype].read_value(), [self._size(number) for number in numbers])
            values |= {
                number: tf.reshape(part, self._shapes[number]) for number, part in zip(numbers, parts, strict=True)
            }
        return [values[number] for number in range(len(values))]

    def assign(self, values: Sequence[tf.Tensor | np.ndarray]) -> None:
        """Put others in their place, in the order of the weights."""
        for dtype, numbers in self._together.items():
            self._variables[dtype].assign(_side_by_side([values[number] for number in numbers]))

    @contextmanager
    def in_network(self) -> Iterator[None]:
        """Let the network have the averages for a while, and then its own weights again."""
        own = [weight.value.read_value() for weight in self._network.weights]
        self._give(self.values())
        try:
            yield
        finally:
            self._give(own)

    def _give(self, values: Sequence[tf.Tensor]) -> None:
        for weight, value in zip(self._network.weights, values, strict=True):
            weight.value.assign(value)

    def _size(self, number: int) -> int:
        return math.prod(self._shapes[number])


def _approach(averages: tf.Variable, weights: Sequence[tf.Variable], share: tf.Tensor) -> None:
    now = _side_by_side(weights)
    if averages.dtype.is_floating:  # of what does not change, the difference is exactly 0
        share = tf.cast(share, averages.dtype)
        tf.raw_ops.ResourceApplyGradientDescent(var=averages.handle, alpha=share, delta=averages - now)
    else:
        averages.assign(now)


def _side_by_side(tensors: Sequence[tf.Variable | tf.Tensor | np.ndarray]) -> tf.Tensor:
    flat = tf.constant([-1])
    return tf.concat([one if len(one.shape) == 1 else tf.reshape(one, flat) for one in tensors], axis=0)
