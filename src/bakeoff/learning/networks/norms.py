"""Batch norms that train by TensorFlow's single operation, three times as fast on a CPU as Keras' many.

Keras computes a batch norm from a dozen operations, each of which reads or writes the whole map, and as many for the
gradient. Variables, the moving statistics and the graph outside training are those of Keras' layer. Files of weights
number layers by the names of their classes, so these names stay.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import keras
import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from bakeoff.learning.networks.layers import Tensor

MAPS = (4, 5)  # ranks of images' and clips' features


class BatchNormalization(keras.layers.BatchNormalization):
    """Batch norm whose moving variance is that of the batches, as in Keras."""

    of_population: ClassVar[bool] = False

    def call(self, inputs: "Tensor", training: bool | None = None, mask: "Tensor | None" = None) -> "Tensor":
        if not (training and self.trainable):
            return super().call(inputs, training=training, mask=mask)
        rank = len(inputs.shape)
        if rank not in MAPS or self.axis not in (-1, rank - 1) or self.synchronized or self.renorm or mask is not None:
            return self._call_of_keras(inputs, mask)
        x = tf.cast(inputs, self.compute_dtype)
        if self.of_population and 0 < self.momentum < 1:  # then the operation follows the batches by itself
            outputs, mean, variance = self._normalise(
                x, mean=self.moving_mean.value, variance=self.moving_variance.value,
                exponential_avg_factor=1 - self.momentum,
            )  # fmt: skip
            self.moving_mean.value.assign(mean)
            self.moving_variance.value.assign(variance)
        else:
            nothing = tf.zeros([0])
            outputs, mean, variance = self._normalise(x, mean=nothing, variance=nothing)
            share = 1.0 if self.of_population else _share_of_population(inputs)
            if isinstance(share, tf.Tensor):
                variance, share = variance * share, 1.0
            _follow(_Follower(self.moving_mean.value, mean, self.momentum))
            _follow(_Follower(self.moving_variance.value, variance, self.momentum, share))
        return outputs

    def _normalise(self, x: tf.Tensor, **statistics: "tf.Tensor | float") -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the normalised map, and of each channel the mean and the variance of the population.

        They are float32. A map of bfloat16 is read and written as it is, but counted in float32.
        """
        channels = x.shape[-1]
        images = x if len(x.shape) == 4 else tf.reshape(x, [tf.shape(x)[0], -1, 1, channels])
        # The first version's graph of gradients is much smaller, for it has no zeros for what nothing depends on.
        plain = x.dtype == tf.float32 and not tf.config.get_visible_devices("GPU")
        outputs, mean, variance, *_ = (tf.raw_ops.FusedBatchNorm if plain else tf.raw_ops.FusedBatchNormV3)(
            x=images,
            scale=self.gamma.value if self.scale else tf.ones([channels]),
            offset=self.beta.value if self.center else tf.zeros([channels]),
            epsilon=self.epsilon,
            is_training=True,
            **statistics,
        )
        outputs = outputs if outputs.shape.rank == len(x.shape) else tf.reshape(outputs, tf.shape(x))
        return tf.ensure_shape(outputs, x.shape), mean, variance

    def _call_of_keras(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        kept = self.momentum * self.moving_variance
        outputs = super().call(inputs, training=True, mask=mask)
        if self.of_population:
            after = 1.0 * self.moving_variance
            seen = keras.ops.cast(keras.ops.prod(keras.ops.stack(keras.ops.shape(inputs)[:-1])), after.dtype)
            lacking = (after - kept) / keras.ops.maximum(seen - 1, 1)  # to n / (n - 1) of what this batch added
            self.moving_variance.assign(after + keras.ops.where(seen > 1, lacking, 0.0))
        return outputs


def _share_of_population(inputs: "Tensor") -> "tf.Tensor | np.float32":
    """Return what the variance of a batch is of that of the population: (n - 1) / n for n numbers of a channel."""
    if inputs.shape.is_fully_defined():  # then it is no part of the graph
        seen = np.float32(inputs.shape.num_elements() // inputs.shape[-1])
        return np.maximum(seen - 1, np.float32(1)) / seen
    seen = tf.cast(tf.size(inputs) // inputs.shape[-1], tf.float32)
    return tf.maximum(seen - 1, 1) / seen


class _Follower(NamedTuple):
    """A moving statistic, and what the batch has in its place."""

    moving: tf.Variable
    of_batch: tf.Tensor
    momentum: float
    share: "float | np.float32" = 1.0  # of the batch's that counts

    @property
    def rate(self) -> np.float32:
        return np.float32(self.share) * np.float32(1 - self.momentum)


class _Followers:
    """Those that wait for the end of a block."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Follower] = {}
        self._graph = tf.compat.v1.get_default_graph()

    def take(self, one: _Follower) -> bool:
        """Take it up, unless the batch's is of a graph inside this one, from which it cannot be had."""
        if tf.compat.v1.get_default_graph() is not self._graph:
            return False
        if id(one.moving) in self._waiting:  # a layer that is called again: one batch after the other
            self.follow()
        self._waiting[id(one.moving)] = one
        return True

    def follow(self) -> None:
        """Side by side, so that a few operations are enough for all of them, instead of three for each."""
        if not (some := [*self._waiting.values()]):
            return
        sizes = [one.moving.shape[0] for one in some]
        before, of_batch = tf.concat([one.moving for one in some], 0), tf.concat([one.of_batch for one in some], 0)
        momentum = np.repeat(np.array([one.momentum for one in some], np.float32), sizes)
        rate = np.repeat(np.array([one.rate for one in some]), sizes)
        for one, part in zip(some, tf.split(before * momentum + of_batch * rate, sizes), strict=True):
            one.moving.assign(part)
        self._waiting = {}


_waiting: ContextVar[_Followers | None] = ContextVar("waiting", default=None)


@contextmanager
def following_together() -> Iterator[None]:
    """In the block, moving statistics stay as they are. At its end, they follow their batches."""
    followers = _Followers()
    before = _waiting.set(followers)
    try:
        yield
    finally:
        _waiting.reset(before)
    followers.follow()


def _follow(one: _Follower) -> None:
    if (followers := _waiting.get()) is None or not followers.take(one):
        one.moving.assign(one.moving * one.momentum + one.of_batch * one.rate)


class BatchNorm(BatchNormalization):
    """Batch norm whose moving variance is that of the population, as TensorFlow's operation has it."""

    of_population = True


def use_fast_norms(network: keras.Model) -> None:
    """Give the batch norms of a network that Keras built the class from here.

    keras.applications has no argument for it. Layers that are made again would start from other weights.
    """
    for layer in network.layers:
        if type(layer) is keras.layers.BatchNormalization:
            layer.__class__ = BatchNormalization
