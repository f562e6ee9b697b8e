"""Batch norms in one operation, against Keras' many: what they give, learn and keep, and the names of their weights."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.norms import BatchNormalization, following_together, use_fast_norms

IMAGES, CLIPS = (3, 5, 4, 6), (2, 3, 4, 5, 6)


def train(norm: keras.Layer, batch: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return outputs, gradients and statistics after two steps of a compiled graph."""

    def step(inputs: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = norm(inputs, training=True)
            loss = tf.reduce_sum(outputs * weights)
        return outputs, tape.gradient(loss, [inputs, *norm.trainable_variables])

    compiled = tf.function(step, autograph=False)
    compiled(tf.constant(batch / 2))
    outputs, gradients = compiled(tf.constant(batch))
    tensors = {"outputs": outputs, "inputs": gradients[0]} | {weight.path: weight for weight in norm.weights}
    tensors |= {f"of {weight.name}": one for weight, one in zip(norm.trainable_variables, gradients[1:], strict=True)}
    return {name: np.array(value) for name, value in tensors.items()}


@pytest.mark.parametrize("shape", [IMAGES, CLIPS])
@pytest.mark.parametrize("options", [{}, {"scale": False}, {"center": False}, {"epsilon": 1e-5, "momentum": 0.7}])
def test_one_operation_gives_and_learns_what_those_of_keras_do(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    draw = np.random.default_rng(0)
    batch, weights = (draw.normal(1, 2, shape).astype(np.float32) for _ in range(2))
    start = {
        "gamma_initializer": keras.initializers.Constant([0.5, 1, 2, -1, 3, 0.1]),
        "beta_initializer": keras.initializers.Constant([0, 1, -1, 2, 0.5, 0]),
    }
    norms = [kind(**(start | options), name="norm") for kind in (keras.layers.BatchNormalization, BatchNormalization)]
    expected, actual = (train(norm, batch, weights) for norm in norms)
    assert list(actual) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(actual[name], values, rtol=1e-4, atol=1e-4, err_msg=name)


def test_a_second_run_is_equal_to_the_bit() -> None:
    draw = np.random.default_rng(1)
    batch, weights = (draw.normal(size=(8, 20, 20, 24)).astype(np.float32) for _ in range(2))
    first, second = (train(BatchNormalization(name="norm"), batch, weights) for _ in range(2))
    for name, values in first.items():
        np.testing.assert_array_equal(second[name], values, err_msg=name)


@pytest.mark.parametrize("shape", [(1, 1, 1, 6), IMAGES, CLIPS])
def test_statistics_are_the_same_to_the_bit_where_the_batch_is_not_known_before(shape: tuple[int, ...]) -> None:
    batch = tf.constant(np.random.default_rng(2).normal(1, 2, shape).astype(np.float32))
    norms = []
    for known in (shape[0], None):
        norm = BatchNormalization(name="norm")
        norm.build(shape)
        signature = [tf.TensorSpec([known, *shape[1:]], tf.float32)]
        tf.function(lambda images, norm=norm: norm(images, training=True), input_signature=signature)(batch)
        norms.append(norm)
    for first, second in zip(norms[0].weights, norms[1].weights, strict=True):
        np.testing.assert_array_equal(first.numpy(), second.numpy(), err_msg=first.path)


def test_all_that_follow_together_come_to_the_same_bits_as_each_by_itself() -> None:
    batches = np.random.default_rng(3).normal(1, 2, (3, *IMAGES)).astype(np.float32)

    def train_some(block: Callable[[], AbstractContextManager[None]]) -> dict[str, np.ndarray]:
        norms = [BatchNormalization(momentum=one, name=f"norm_{one}") for one in (0.9, 0.7, 0.99)]
        for norm in norms:
            norm.build(IMAGES)
        twice, once, inside = norms

        def step(inputs: tf.Tensor) -> None:
            with block():
                between = twice(once(inputs, training=True) + 1, training=True)
                twice(between * 2, training=True)  # which has followed its first batch by then
                tf.map_fn(lambda one: inside(one, training=True), tf.stack([between, inputs]))

        compiled = tf.function(step, autograph=False)
        for batch in batches:
            compiled(tf.constant(batch))
        return {weight.path: weight.numpy() for norm in norms for weight in norm.weights}

    alone, together = train_some(nullcontext), train_some(following_together)
    for path, values in alone.items():
        np.testing.assert_array_equal(together[path], values, err_msg=path)


def test_statistics_that_follow_together_wait_for_the_end_of_the_block() -> None:
    norm = BatchNormalization()
    norm.build(IMAGES)
    moving = norm.moving_mean.value

    def step(inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with following_together():
            norm(inputs, training=True)
            in_the_block = moving.read_value()
        return in_the_block, moving.read_value()

    in_the_block, after_it = tf.function(step, autograph=False)(tf.ones(IMAGES))
    np.testing.assert_array_equal(in_the_block, np.zeros(6))
    np.testing.assert_allclose(after_it, np.full(6, 0.01), rtol=1e-5)


def test_outside_training_the_operations_are_those_of_keras() -> None:
    batch = np.random.default_rng(0).normal(1, 2, IMAGES).astype(np.float32)
    names = []
    for kind in (keras.layers.BatchNormalization, BatchNormalization):
        norm = kind(name="norm")
        norm.build(IMAGES)
        graph = tf.function(lambda x, norm=norm: norm(x, training=False)).get_concrete_function(batch).graph
        names.append([operation.type for operation in graph.get_operations()])
    assert names[0] == names[1] and "FusedBatchNormV3" not in names[0]


@pytest.mark.parametrize("shape", [IMAGES, CLIPS])
def test_in_bfloat16_the_map_is_rounded_and_nothing_else(shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(0)
    batch = np.array(tf.cast(draw.normal(1, 2, shape), tf.bfloat16))
    weights = draw.choice([-1.0, 0.5, 2.0], shape)  # bfloat16 has them
    full = train(BatchNormalization(name="norm"), batch.astype(np.float32), weights.astype(np.float32))
    half = train(BatchNormalization(name="norm", dtype="mixed_bfloat16"), batch, weights.astype(batch.dtype))
    rounded = {name for name, value in half.items() if value.dtype != np.float32}
    assert rounded == {"outputs", "inputs"}
    for name, values in full.items():
        expected = values.astype(batch.dtype) if name in rounded else values
        np.testing.assert_array_equal(half[name], expected, err_msg=name)


def test_a_network_of_keras_keeps_its_weights_and_takes_files_of_them(tmp_path: Path) -> None:
    mine, other = (keras.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None) for _ in range(2))
    before = [(weight.path, weight.numpy()) for weight in mine.weights]
    use_fast_norms(mine)
    norms = [layer for layer in mine.layers if isinstance(layer, keras.layers.BatchNormalization)]
    assert {type(layer) for layer in norms} == {BatchNormalization} and len(norms) == 52
    for weight, (path, values) in zip(mine.weights, before, strict=True):
        assert weight.path == path
        np.testing.assert_array_equal(weight, values)
    for saved, loaded in ((other, mine), (mine, other)):
        saved.set_weights([values + 0.01 for values in saved.get_weights()])
        saved.save_weights(tmp_path / "one.weights.h5")
        loaded.load_weights(tmp_path / "one.weights.h5")
        for weight, expected in zip(loaded.get_weights(), saved.get_weights(), strict=True):
            np.testing.assert_array_equal(weight, expected)
    image = tf.constant(np.random.default_rng(0).uniform(-1, 1, (2, 32, 32, 3)), tf.float32)
    np.testing.assert_array_equal(mine(image, training=False), other(image, training=False))
