"""Batch norm as detectors have it: what it learns of a batch, against numpy."""

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.norms import BatchNorm


@pytest.mark.parametrize("shape", [(2, 1, 1, 4), (3, 5, 2, 4), (1, 1, 1, 4)])
def test_moving_variance_is_that_of_the_population(shape: tuple[int, ...]) -> None:
    batch = np.random.default_rng(0).normal(2, 3, shape).astype(np.float32)
    norm = BatchNorm(momentum=0.9)
    compiled = tf.function(lambda inputs: norm(inputs, training=True))
    outputs = compiled(batch).numpy()
    seen = np.prod(shape[:-1])
    expected = batch.var((0, 1, 2), ddof=1 if seen > 1 else 0)  # one number alone: as TensorFlow has it
    np.testing.assert_allclose(norm.moving_variance.numpy(), 0.9 + 0.1 * expected, rtol=1e-5)
    np.testing.assert_allclose(norm.moving_mean.numpy(), 0.1 * batch.mean((0, 1, 2)), rtol=1e-5)
    by_batch = (batch - batch.mean((0, 1, 2))) / np.sqrt(batch.var((0, 1, 2)) + 1e-3)
    np.testing.assert_allclose(outputs, by_batch, atol=1e-5)


def test_outside_training_and_frozen_nothing_is_learned() -> None:
    norm = BatchNorm()
    norm.build((None, 2, 2, 3))
    norm(tf.ones([1, 2, 2, 3]), training=False)
    norm.trainable = False
    norm(tf.ones([1, 2, 2, 3]), training=True)
    assert norm.moving_variance.numpy().tolist() == [1, 1, 1] and norm.moving_mean.numpy().tolist() == [0, 0, 0]
