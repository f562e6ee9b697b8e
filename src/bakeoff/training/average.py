"""An exponential moving average of the weights (`train.ema_decay`): what is validated, kept and exported if it is on.

Batch-norm statistics are averaged along with the weights, as Inception's training does. It forgets fast in the
beginning: after n steps of a leg the decay is at most (1 + n) / (10 + n).
"""

import keras
import tensorflow as tf


class Average:
    def __init__(self, network: keras.Model, decay: float) -> None:
        """`network` is a second one, whose weights the averages are."""
        self.network, self.decay = network, decay

    def begin(self, trained: keras.Model) -> None:
        for mine, other in zip(self.network.weights, trained.weights, strict=True):
            mine.assign(other)

    def follow(self, trained: keras.Model, steps: tf.Tensor, strategy: tf.distribute.Strategy) -> None:
        """After a step, of which there were `steps`."""
        steps = tf.cast(steps, tf.float32)
        decay = tf.minimum(self.decay, (1 + steps) / (10 + steps))
        for mine, other in zip(self.network.weights, trained.weights, strict=True):
            strategy.extended.update(mine.value, _approach, args=(other.value, decay), group=False)


def _approach(mine: tf.Variable, other: tf.Tensor, decay: tf.Tensor) -> None:
    # Of what does not change, the difference is exactly 0.
    mine.assign(mine - (1 - decay) * (mine - other) if mine.dtype.is_floating else other)
