"""A network of one weight, w: its output is w times the input and so is its loss, so its gradient is the input."""

import keras
import tensorflow as tf

from bakeoff.learning.plan.optimizers import Momentum


class Slope:
    """A task whose loss is the mean output, half of it called a and half b."""

    headline = "goodness"

    def losses(self, outputs: tf.Tensor, targets: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        half = tf.reduce_mean(outputs * targets["factor"]) / 2
        return {"a": half, "b": half}

    def predict(self, outputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"answer": outputs + 1}


def one_weight() -> keras.Model:
    number = keras.Input((1,))
    return keras.Model(number, keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")(number))


def weight_of(network: keras.Model) -> float:
    return float(network.trainable_variables[0].numpy()[0, 0])


def sgd(network: keras.Model, **settings: float) -> keras.optimizers.Optimizer:
    return Momentum(**({"momentum": 0.0, "nesterov": False} | settings)).build(network)


def batches(*inputs: float, factor: float = 1.0) -> list[dict[str, tf.Tensor]]:
    return [{"image": tf.constant([[value]]), "factor": tf.constant([[factor]])} for value in inputs]
