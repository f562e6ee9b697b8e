"""A phase in eight bits: it resumes to the bit, its ranges stay at the end, and its own best weights are the best."""

import itertools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.checkpoints.run_state import Best, PhaseState, Position
from bakeoff.learning.lr.decays import Constant
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.plan.train_settings import Phase, Train
from bakeoff.learning.tasks.task import Tensors, compile_answer, make_task
from bakeoff.learning.training.loop import seed_everything
from bakeoff.learning.training.trainer_state import Learner, new_learner
from bakeoff.learning.training.training import TrainingResult

pytestmark = pytest.mark.long

MODEL = Cnn(input_size=16, width=0.25)
TRAIN = Train(4, phases=(Phase("plain", 2), Phase("eight", 8, quantize=True)), ema_decay=0.9)
EIGHT = TrainingPhase(Span("eight", 2, 8, 8, 4, 1.0), Constant(0.05), (), "last", quantize=True)
STEPS = 8


def batch(number: int) -> Tensors:
    draw = np.random.default_rng(number)
    image = tf.constant(draw.uniform(0, 255, (4, 16, 16, 3)), tf.float32)
    return {"image": image, "label": tf.constant(draw.integers(1, 4, 4))}


def learner() -> Learner:
    """As a process has it that just began."""
    seed_everything(5, deterministic=True)
    task = make_task(MODEL, ("ant", "bee", "cat"))
    return new_learner(MODEL, 3, task, Momentum(weight_decay=0.01), TRAIN, tf.distribute.get_strategy())


def ends_of(state: dict[str, np.ndarray], some: Learner) -> np.ndarray:
    place = [weight.path for weight in some.network.variables].index("ranges/ends")
    return np.array(state[f"network/{place:05d}"])


def states(some: Learner, steps: range, saved: dict[str, Any] | None = None) -> list[dict[str, np.ndarray]]:
    """What is saved after each of the steps of the phase, which begins or goes on from what was saved."""
    if saved is None:
        some.begin_eight_bits([batch(number)["image"] for number in range(2)])
    step = some.begin((), "train.trainable", EIGHT.ranges_learn)
    if saved is not None:
        some.restore(saved)
    kept = []
    for number in steps:
        step([batch(number)], tf.constant(0.05))
        kept.append({name: np.array(value) for name, value in some.state().items()})
    return kept


def test_a_phase_that_is_cut_short_ends_in_the_same_bits_and_its_ranges_stay_at_the_end() -> None:
    whole = learner()
    through = states(whole, range(STEPS))
    for cut in (1, 5, 7):
        resumed = states(learner(), range(cut, STEPS), through[cut - 1])[-1]
        assert all(np.array_equal(value, resumed[name]) for name, value in through[-1].items())
    ends = [ends_of(state, whole) for state in through]
    moved = [not np.array_equal(one, other) for one, other in itertools.pairwise(ends)]
    assert EIGHT.ranges_learn == 6 and moved == [True] * 5 + [False] * 2


def test_what_is_asked_in_floats_before_the_phase_is_asked_in_eight_bits_in_it() -> None:
    some = learner()
    answer = compile_answer(some.network, make_task(MODEL, ("ant", "bee", "cat")))
    before = answer(batch(0))["probabilities"].numpy()
    some.begin_eight_bits([batch(0)["image"]])
    after = answer(batch(0))["probabilities"].numpy()
    expected = keras.ops.softmax(some.network(batch(0)["image"])["classes"])
    np.testing.assert_allclose(after, expected, atol=1e-6)
    assert np.abs(before - after).max() > 1e-4


def test_the_best_weights_are_of_the_phase_in_eight_bits_once_it_was_judged() -> None:
    def best(*bests: Best) -> Position | None:
        return TrainingResult([PhaseState(one) for one in bests], Position(1, 9), [], judged_from=1).best_position

    assert best(Best(4, 0.9), Best(9, 0.7)) == Position(1, 9)
    assert best(Best(4, 0.9), Best()) == Position(0, 4)
    assert best(Best(4, 0.9)) == Position(0, 4)
