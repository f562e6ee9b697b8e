"""Optimizers: where they put a weight, worked out by hand, and what they refuse."""

import math
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.plan.fused_adam import OnePassAdam
from bakeoff.learning.plan.optimizers import Adam, Momentum, Optimizer, RmsProp
from bakeoff.learning.plan.train_settings import EarlyStopping, Train
from bakeoff.learning.training.step import Slow, Step
from support.slope import Slope, batches, one_weight, sgd, weight_of


def moved(optimizer: Optimizer, gradients: list[float], rate: float = 0.1, slow: str = "") -> list[float]:
    """The weight after each step from zero; of a `slow` name, a quarter as far."""
    network = one_weight()
    named = frozenset(one.path for one in network.trainable_variables if slow in one.path)
    step = Step(network, optimizer.build(network), Slope(), slow=Slow(named, 0.25) if slow else None)  # type: ignore[arg-type]
    places = []
    for gradient in gradients:
        step(batches(gradient), tf.constant(rate))
        places.append(weight_of(network))
    return places


def test_momentum_carries_a_share_of_the_last_move_on() -> None:
    # Moves: -0.1; 0.5 * -0.1 - 0.2 = -0.25; 0.5 * -0.25 = -0.125.
    given = moved(Momentum(momentum=0.5, nesterov=False), [1.0, 2.0, 0.0])
    assert given == pytest.approx([-0.1, -0.35, -0.475])


def test_nesterov_looks_one_move_ahead() -> None:
    # Velocities as above, -0.1, -0.25, -0.125; each move is half of the velocity plus the new gradient's part.
    given = moved(Momentum(momentum=0.5, nesterov=True), [1.0, 2.0, 0.0])
    assert given == pytest.approx([-0.15, -0.15 - 0.325, -0.15 - 0.325 - 0.0625])


def test_adam_divides_by_the_size_of_recent_gradients() -> None:
    settings = Adam(beta_1=0.8, beta_2=0.9, epsilon=0.01)
    gradients, expected, weight, first, second = [3.0, -1.0, 0.5], [], 0.0, 0.0, 0.0
    for step, gradient in enumerate(gradients, start=1):
        first = 0.8 * first + 0.2 * gradient
        second = 0.9 * second + 0.1 * gradient**2
        # Kingma and Ba's efficient order, in which epsilon is added to the uncorrected root.
        weight -= 0.1 * math.sqrt(1 - 0.9**step) / (1 - 0.8**step) * first / (math.sqrt(second) + 0.01)
        expected.append(weight)
    assert moved(settings, gradients) == pytest.approx(expected, rel=1e-5)


def test_rmsprop_divides_by_the_root_of_the_mean_square_and_epsilon() -> None:
    gradients, expected, weight, square, speed = [3.0, -1.0, 0.5], [], 0.0, 0.0, 0.0
    for gradient in gradients:
        square = 0.8 * square + 0.2 * gradient**2
        speed = 0.7 * speed + 0.1 * gradient / math.sqrt(square + 1.0)
        weight -= speed
        expected.append(weight)
    assert moved(RmsProp(rho=0.8, momentum=0.7, epsilon=1.0), gradients) == pytest.approx(expected, rel=1e-5)


def test_what_is_slow_moves_as_with_a_smaller_rate_with_every_optimizer() -> None:
    gradients = [3.0, -1.0, 0.5, 2.0]
    optimizers = [
        Momentum(momentum=0.5, nesterov=False, weight_decay=0.1),
        Momentum(momentum=0.5, nesterov=True),
        RmsProp(rho=0.8, momentum=0.7, weight_decay=0.1),
        Adam(weight_decay=0.1, no_decay=()),
    ]
    for optimizer in optimizers:
        slow = moved(optimizer, gradients, slow="kernel")
        assert slow == pytest.approx(moved(optimizer, gradients, rate=0.025), rel=1e-5)
        assert moved(optimizer, gradients, slow="another") == moved(optimizer, gradients)


def normed_head() -> keras.Model:
    given = keras.Input((4,))
    x = keras.layers.Dense(3, bias_initializer="ones", name="head")(given)
    return keras.Model(given, keras.layers.BatchNormalization(beta_initializer="ones", name="backbone.norm")(x))


def after_decay(network: keras.Model, optimizer: keras.optimizers.Optimizer) -> dict[str, np.ndarray]:
    """What a step without gradients leaves of each weight."""
    before = {weight.path: weight.numpy() for weight in network.trainable_variables}
    optimizer.learning_rate = 0.5
    optimizer.apply([tf.zeros_like(weight) for weight in network.trainable_variables], network.trainable_variables)
    return {weight.path: weight.numpy() / before[weight.path] for weight in network.trainable_variables}


def test_decay_spares_what_the_patterns_name_and_nothing_else() -> None:
    network = normed_head()
    left = after_decay(network, Momentum(weight_decay=0.1, no_decay=("head/*",)).build(network))
    assert {path: pytest.approx(ratio.ravel()[0], rel=1e-5) for path, ratio in left.items()} == {
        "head/kernel": 1.0, "head/bias": 1.0, "backbone.norm/gamma": 0.95, "backbone.norm/beta": 0.95,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Momentum, RmsProp, Adam])
def test_weight_decay_shrinks_kernels_and_leaves_biases_and_norms(kind: type[Momentum] | type[Adam]) -> None:
    network = normed_head()
    shrunk = after_decay(network, kind(weight_decay=0.1).build(network))
    assert {path: pytest.approx(ratio, rel=1e-5) for path, ratio in shrunk.items()} == {
        "head/kernel": np.full((4, 3), 1 - 0.5 * 0.1),
        "head/bias": np.ones(3),
        "backbone.norm/gamma": np.ones(3),
        "backbone.norm/beta": np.ones(3),
    }


def after_one_step(clip_norm: float) -> list[np.ndarray]:
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="zeros")])
    optimizer = sgd(network, clip_norm=clip_norm)
    optimizer.learning_rate = 1.0
    optimizer.apply([tf.constant([[3.0]]), tf.constant([-4.0])], network.trainable_variables)
    return [float(weight.numpy().ravel()[0]) for weight in network.trainable_variables]


def test_gradients_are_clipped_by_their_norm_all_together() -> None:
    assert after_one_step(clip_norm=1.0) == pytest.approx([-0.6, 0.8])
    assert after_one_step(clip_norm=10.0) == pytest.approx([-3.0, 4.0])
    assert after_one_step(clip_norm=0.0) == pytest.approx([-3.0, 4.0])


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Momentum, {"momentum": 1.0}, r"^momentum:\D+0\D+1\D+1\.0$"),
        (Momentum, {"weight_decay": -1.0}, r"^weight_decay:\D+0\D+-1\.0$"),
        (Momentum, {"clip_norm": -1.0}, r"^clip_norm:\D+0\D+-1\.0$"),
        (Adam, {"beta_1": 1.0}, r"^beta_1:\D+0\D+1\D+1\.0$"),
        (Adam, {"beta_2": -0.1}, r"^beta_2:\D+0\D+1\D+-0\.1$"),
        (Adam, {"epsilon": 0.0}, r"^epsilon:\D+0\D+0\.0$"),
        (Adam, {"weight_decay": -0.1}, r"^weight_decay:\D+0\D+-0\.1$"),
        (RmsProp, {"rho": 1.5}, r"^rho:\D+0\D+1\D+1\.5$"),
        (RmsProp, {"momentum": -0.5}, r"^momentum:\D+0\D+1\D+-0\.5$"),
        (RmsProp, {"epsilon": 0.0}, r"^epsilon:\D+0\D+0\.0$"),
        (Adam, {"clip_norm": -2.0}, r"^clip_norm:\D+0\D+-2\.0$"),
        (Train, {"batch_size": 0, "steps": 1}, r"^batch_size:\D+1\D+auto\D+0$"),
        (
            Train,
            {"batch_size": 1},
            r"^steps: .*epochs is null.*None$",
        ),
        (Train, {"batch_size": 1, "steps": 3, "epochs": 2.0}, r"^steps: .*null.*epochs\D+2\.0.*\b3$"),
        (Train, {"batch_size": 1, "steps": 0}, r"^steps:\D+1\D+0$"),
        (Train, {"batch_size": 1, "epochs": 0.0}, r"^epochs:\D+0\D+0\.0$"),
        (Train, {"batch_size": 1, "steps": 1, "log_every_steps": 0}, r"^log_every_steps:\D+1\D+0$"),
        (
            Train,
            {"batch_size": 1, "steps": 1, "checkpoint_every_seconds": 0.0},
            r"^checkpoint_every_seconds:\D+0\D+null\D+0\.0$",
        ),
        (
            Train,
            {"batch_size": 1, "steps": 1, "validate_every_steps": -1},
            r"^validate_every_steps:\D+0\D+-1$",
        ),
        (
            Train,
            {"batch_size": 1, "steps": 1, "early_stopping": EarlyStopping(patience=1)},
            r"^validate_every_steps:\D+1\D+early_stopping\D+0$",
        ),
        (
            Train,
            {"batch_size": 1, "steps": 1, "max_minutes": 0.0},
            r"^max_minutes:\D+0\D+null\D+0\.0$",
        ),
        (
            Train,
            {"batch_size": 1, "steps": 1, "continue_from": " "},
            r"^continue_from:\D+null\D+' '$",
        ),
    ],
)
def test_senseless_settings_are_refused(kind: type, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        kind(**fields)


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "global_clipnorm": 0.5}])
def test_adam_in_one_pass_goes_where_keras_goes(options: dict[str, float]) -> None:
    draw = np.random.default_rng(0)
    gradients = [[draw.normal(size=shape).astype(np.float32) for shape in ((4, 3), (3,), (3,), (3,))] for _ in range(5)]
    ends = []
    for kind in (keras.optimizers.Adam, OnePassAdam):
        keras.utils.set_random_seed(0)
        network, optimizer = normed_head(), kind(beta_1=0.8, beta_2=0.95, **options)
        optimizer.build(network.trainable_variables)
        for rate, step in zip((0.1, 0.2, 0.05, 0.3, 0.1), gradients, strict=True):
            optimizer.learning_rate = rate
            optimizer.apply([tf.constant(one) for one in step], network.trainable_variables)
        ends.append([np.array(variable) for variable in (*network.weights, *optimizer.variables)])
    assert len(ends[0]) == len(ends[1])
    for expected, actual in zip(*ends, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-6)
