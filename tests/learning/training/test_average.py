"""The moving average of the weights, against its formula."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.training.average import Average
from bakeoff.learning.training.step import Step
from support.slope import Slope, batches, one_weight, sgd, weight_of


def test_it_follows_the_weights_with_a_decay_that_grows_up_to_its_own() -> None:
    network = one_weight()
    average = Average(network, decay=0.3)
    average.begin()
    step = Step(network, sgd(network), Slope(), average=average)  # type: ignore[arg-type]
    weight = expected = 0.0
    for number, gradient in enumerate([1.0, -4.0, 2.0, 8.0, 1.0], start=1):
        step(batches(gradient), tf.constant(0.5))
        weight -= 0.5 * gradient
        decay = min(0.3, (1 + number) / (10 + number))  # 2/11, 3/12, 4/13 and then 0.3
        expected = decay * expected + (1 - decay) * weight
        with average.in_network():
            assert weight_of(network) == pytest.approx(expected, rel=1e-6)
        assert weight_of(network) == pytest.approx(weight)


def test_statistics_are_averaged_along_with_the_weights() -> None:
    given = keras.Input((1,))
    network = keras.Model(given, keras.layers.BatchNormalization(momentum=0.5, name="norm")(given))
    average = Average(network, decay=0.9)
    average.begin()
    step = Step(network, sgd(network), Slope(), average=average)  # type: ignore[arg-type]
    step([{"image": tf.constant([[2.0], [6.0]]), "factor": tf.ones([2, 1])}], tf.constant(0.0))
    # The mean goes from 0 to 2, the average 9/11 of the way.
    with average.in_network():
        assert float(network.get_layer("norm").moving_mean[0]) == pytest.approx(2 * 9 / 11)


def test_what_is_frozen_stays_in_the_average_to_the_bit() -> None:
    network = one_weight()
    average = Average(network, decay=0.9)
    network.trainable_variables[0].assign([[0.1234567]])
    average.begin()
    step = Step(network, sgd(network), Slope(), average=average)  # type: ignore[arg-type]
    for _ in range(20):
        step(batches(1.0), tf.constant(0.0))
    np.testing.assert_array_equal(average.values()[0].numpy(), network.weights[0].numpy())


def test_it_moves_each_weight_as_separate_operations_do() -> None:
    given = keras.Input((7,))
    network = keras.Model(given, keras.layers.Dense(5, name="dense")(given))
    average = Average(network, decay=0.9)
    average.begin()
    before = [weight.numpy() for weight in network.weights]
    for weight in network.weights:
        weight.assign(weight + 0.1)
    average.follow(tf.constant(3), tf.distribute.get_strategy())
    share = np.float32(1) - np.float32(4) / np.float32(13)
    for mine, old, other in zip(average.values(), before, network.weights, strict=True):
        expected = old - share * (old - other.numpy())
        np.testing.assert_array_max_ulp(mine.numpy(), expected, maxulp=1)  # a processor may round once instead of twice


class Counting(keras.layers.Layer):
    """Has a kernel, a scalar, a number of steps and a flag."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.kernel = self.add_weight(shape=(2, 3), initializer="ones", name="kernel")
        self.steps = self.add_weight(shape=(), dtype="int64", initializer="zeros", trainable=False, name="steps")
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
        self.flags = self.add_weight(shape=(2,), dtype="bool", initializer="zeros", trainable=False, name="flags")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs


def test_weights_of_every_shape_and_type_are_put_back_as_they_were() -> None:
    given = keras.Input((3,))
    network = keras.Model(given, Counting(name="counting")(given))
    average = Average(network, decay=0.9)
    average.begin()
    layer = network.get_layer("counting")
    layer.kernel.assign([[1, 2, 3], [4, 5, 6]])
    layer.steps.assign(2**40 + 1)
    layer.scale.assign(-2.5)
    layer.flags.assign([True, False])
    own = [weight.numpy() for weight in network.weights]
    with pytest.raises(KeyError), average.in_network():
        assert layer.kernel.numpy().tolist() == [[1, 1, 1], [1, 1, 1]] and layer.steps.numpy() == 0
        raise KeyError
    for weight, value in zip(network.weights, own, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)
    average.follow(tf.constant(0), tf.distribute.get_strategy())
    followed = {weight.name: value.numpy() for weight, value in zip(network.weights, average.values(), strict=True)}
    np.testing.assert_allclose(followed["kernel"], 1 + 0.9 * (np.array([[1, 2, 3], [4, 5, 6]]) - 1), rtol=1e-6)
    assert followed["scale"] == pytest.approx(1 + 0.9 * -3.5)
    assert followed["steps"] == 2**40 + 1 and followed["flags"].tolist() == [True, False]
