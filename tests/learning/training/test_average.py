"""The moving average of the weights, against its formula."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.weights import Average
from bakeoff.learning.training.step import Step
from support.slope import Slope, batches, one_weight, sgd, weight_of


def test_it_follows_the_weights_with_a_decay_that_grows_up_to_its_own() -> None:
    network, average = one_weight(), Average(one_weight(), decay=0.3)
    average.begin(network)
    step = Step(network, sgd(network), Slope(), average=average)  # type: ignore[arg-type]
    weight = expected = 0.0
    for number, gradient in enumerate([1.0, -4.0, 2.0, 8.0, 1.0], start=1):
        step(batches(gradient), tf.constant(0.5))
        weight -= 0.5 * gradient
        decay = min(0.3, (1 + number) / (10 + number))  # 2/11, 3/12, 4/13 and then 0.3
        expected = decay * expected + (1 - decay) * weight
        assert weight_of(average.network) == pytest.approx(expected, rel=1e-6)
    assert weight_of(network) == pytest.approx(weight)


def test_statistics_are_averaged_along_with_the_weights() -> None:
    def normed() -> keras.Model:
        given = keras.Input((1,))
        return keras.Model(given, keras.layers.BatchNormalization(momentum=0.5, name="norm")(given))

    network, average = normed(), Average(normed(), decay=0.9)
    average.begin(network)
    step = Step(network, sgd(network), Slope(), average=average)  # type: ignore[arg-type]
    step([{"image": tf.constant([[2.0], [6.0]]), "factor": tf.ones([2, 1])}], tf.constant(0.0))
    # The mean goes from 0 to 2, the average 9/11 of the way.
    assert float(average.network.get_layer("norm").moving_mean[0]) == pytest.approx(2 * 9 / 11)


def test_what_is_frozen_stays_in_the_average_to_the_bit() -> None:
    network, average = one_weight(), Average(one_weight(), decay=0.9)
    network.trainable_variables[0].assign([[0.1234567]])
    average.begin(network)
    step = Step(network, sgd(network), Slope(), average=average)  # type: ignore[arg-type]
    for _ in range(20):
        step(batches(1.0), tf.constant(0.0))
    np.testing.assert_array_equal(average.network.weights[0].numpy(), network.weights[0].numpy())


def test_it_moves_each_weight_as_separate_operations_do() -> None:
    def dense() -> keras.Model:
        given = keras.Input((7,))
        return keras.Model(given, keras.layers.Dense(5, name="dense")(given))

    trained, average = dense(), Average(dense(), decay=0.9)
    before = [weight.numpy() for weight in average.network.weights]
    average.follow(trained, tf.constant(3), tf.distribute.get_strategy())
    share = np.float32(1) - np.float32(4) / np.float32(13)
    for mine, old, other in zip(average.network.weights, before, trained.weights, strict=True):
        expected = old - share * (old - other.numpy())
        np.testing.assert_array_max_ulp(mine.numpy(), expected, maxulp=1)  # a processor may round once instead of twice
