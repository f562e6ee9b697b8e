"""Batch norms that train by TensorFlow's single operation, three times as fast on a CPU as Keras' many.

Keras computes a batch norm from a dozen operations, each of which reads or writes the whole map, and as many for the
gradient. Variables, the moving statistics and the graph outside training are those of Keras' layer. Files of weights
number layers by the names of their classes, so these names stay.
"""

from typing import TYPE_CHECKING, ClassVar

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
        else:
            nothing = tf.zeros([0])
            outputs, mean, variance = self._normalise(x, mean=nothing, variance=nothing)
            variance = variance if self.of_population else variance * _share_of_population(inputs)
            mean, variance = self._followed(self.moving_mean, mean), self._followed(self.moving_variance, variance)
        self.moving_mean.value.assign(mean)
        self.moving_variance.value.assign(variance)
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

    def _followed(self, moving: keras.Variable, of_batch: tf.Tensor) -> tf.Tensor:
        return moving.value * self.momentum + of_batch * (1 - self.momentum)

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
