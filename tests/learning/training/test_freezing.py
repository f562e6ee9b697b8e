"""Which weights a leg trains, and that nothing else moves."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.networks.weights import train_only
from bakeoff.learning.training.step import Step
from support.slope import Slope, sgd

SHIFT = {"body.norm/beta"}  # the norm behind it takes away what it adds, so rounding alone decides whether it moves
PARTS = {"backbone": ("body.*",), "head": ("logits",)}


def network() -> keras.Model:
    given = keras.Input((2,))
    x = keras.layers.Dense(3, name="body.dense")(given)
    x = keras.layers.BatchNormalization(momentum=0.5, name="body.norm")(x)
    inner_in = keras.Input((3,))
    inner = keras.layers.BatchNormalization(momentum=0.5, name="inner.norm")(inner_in)
    x = keras.Model(inner_in, keras.layers.Dense(3, name="inner.dense")(inner), name="inner")(x)
    return keras.Model(given, keras.layers.Dense(1, name="logits")(x))


def moved(model: keras.Model) -> set[str]:
    """What a step changes."""
    before = {weight.path: weight.numpy() for weight in model.weights}
    step = Step(model, sgd(model), Slope())  # type: ignore[arg-type]
    images = tf.constant([[1.0, 5.0], [2.0, -3.0], [7.0, 1.0]])
    step([{"image": images, "factor": tf.constant([[1.0], [2.0], [-4.0]])}], tf.constant(0.5))
    return {weight.path for weight in model.weights if not np.array_equal(before[weight.path], weight.numpy())}


def all_paths(*layers: str) -> set[str]:
    norm, dense = ("gamma", "beta", "moving_mean", "moving_variance"), ("kernel", "bias")
    return {f"{layer}/{name}" for layer in layers for name in (norm if layer.endswith("norm") else dense)}


def test_without_patterns_everything_trains() -> None:
    model = network()
    train_only(model, (), PARTS, "train.trainable")
    assert all_paths("body.norm", "logits") - SHIFT <= moved(model)
    assert len(model.trainable_weights) == 10


def test_a_frozen_part_keeps_its_weights_and_its_statistics() -> None:
    model = network()
    train_only(model, ("head",), PARTS, "train.trainable")
    assert moved(model) == all_paths("logits")


def test_a_frozen_norm_normalises_with_the_statistics_it_has() -> None:
    given = keras.Input((1,))
    norm = keras.layers.BatchNormalization(epsilon=0.0, name="body.norm")
    model = keras.Model(given, keras.layers.Dense(1, use_bias=False, name="logits")(norm(given)))
    train_only(model, ("head",), PARTS, "train.trainable")
    norm.moving_mean.assign([10.0])
    norm.moving_variance.assign([4.0])
    model.get_layer("logits").kernel.assign([[3.0]])
    # (20 - 10) / 2 = 5; with the statistics of the batch it would be (20 - 20) / 0.
    assert float(model(tf.constant([[20.0], [20.0]]), training=True)[0, 0]) == pytest.approx(15.0)


def test_a_layer_inside_a_network_can_be_chosen_alone() -> None:
    model = network()
    train_only(model, ("inner.norm",), PARTS, "train.trainable")
    assert moved(model) == all_paths("inner.norm")


def test_a_pattern_can_choose_single_variables() -> None:
    model = network()
    train_only(model, ("logits/bias", "body.dense/kernel"), PARTS, "train.trainable")
    assert moved(model) == {"logits/bias", "body.dense/kernel"}


def test_what_a_leg_froze_the_next_one_can_train() -> None:
    model = network()
    train_only(model, ("head",), PARTS, "train.trainable")
    train_only(model, ("backbone",), PARTS, "train.trainable")
    assert moved(model) >= all_paths("body.norm") - SHIFT and "logits/kernel" not in moved(model)
    train_only(model, (), PARTS, "train.trainable")
    assert len(model.trainable_weights) == 10


def test_a_pattern_without_a_match_is_refused_with_the_nearest_names() -> None:
    message = r"^train\.trainable: .*'bakbone'.*'backbone'\?.*backbone, head$"
    with pytest.raises(ConfigError, match=message):
        train_only(network(), ("head", "bakbone"), PARTS, "train.trainable")


def test_patterns_that_leave_nothing_to_train_are_refused() -> None:
    message = r"^train\.trainable: body\.norm/moving_mean .*only statistics"
    with pytest.raises(ConfigError, match=message):
        train_only(network(), ("body.norm/moving_mean",), PARTS, "train.trainable")
