"""Several steps in one call: the same bits as single ones, and never past what is due."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.checkpoints.run_state import PhaseState
from bakeoff.learning.lr.decays import Cosine
from bakeoff.learning.networks import weights
from bakeoff.learning.plan.optimizers import Adam
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.training import step as stepping
from bakeoff.learning.training.average import Average
from bakeoff.learning.training.loop import Diverged, Rhythm, fit, seed_everything
from bakeoff.learning.training.step import Calls
from bakeoff.learning.training.stopping import Ends
from bakeoff.learning.training.trainer_state import Learner
from support.kitchen import kept_digest
from support.slope import Slope, batches

TAKE = Calls.take


def noisy_network() -> keras.Model:
    given = keras.Input((2,))
    x = keras.layers.BatchNormalization(name="norm")(keras.layers.Dense(4, name="first")(given))
    return keras.Model(given, keras.layers.Dense(1, name="last")(keras.layers.Dropout(0.4)(x)))


def noise(count: int, spoilt: int = -1) -> tf.data.Dataset:
    """Batches of random numbers; one of them may hold what is no number."""
    values = np.random.default_rng(1).normal(size=(count, 3, 2)).astype(np.float32)
    values[spoilt : spoilt + 1] = np.nan if spoilt >= 0 else values[spoilt : spoilt + 1]
    return tf.data.Dataset.from_tensor_slices({"image": values, "factor": values[..., :1] ** 2})


class Run:
    """`fit` of the noisy network, with what it logs and the length of each call."""

    def __init__(self, steps_per_call: Any, monkeypatch: pytest.MonkeyPatch, *, together: int = 1) -> None:
        seed_everything(3, deterministic=False)
        self.lines: list[tuple[int, dict[str, float]]] = []
        self.saved: list[int] = []
        self.taken: list[int] = []
        self.together, self.per_call = together, steps_per_call
        self.network = noisy_network()
        self.learner = Learner(
            self.network, average=Average(self.network, 0.8), parts={"all": ("*",)}, task=Slope(),  # type: ignore[arg-type]
            optimizer=Adam(weight_decay=0.1), strategy=tf.distribute.get_strategy(),
        )  # fmt: skip
        take: Callable[..., Any] = TAKE
        monkeypatch.setattr(Calls, "take", lambda this, rates: (self.taken.append(len(rates)), take(this, rates))[1])
        monkeypatch.setattr(stepping, "MOST_SECONDS", 1e6)  # however slow this machine is

    headline = "goodness"

    def bake(self, steps: int, **spoilt: int) -> None:
        rhythm = Rhythm(5, 8, 6, steps_per_call=self.per_call, examples_per_step=3 * self.together)
        upcoming = noise(steps * self.together, **spoilt)
        step = self.learner.begin((), "train.trainable")
        fit(
            Calls(step, upcoming, together=self.together, at_once=rhythm.steps_per_call),
            range(steps),
            Cosine(peak=0.1, total_steps=steps),
            rhythm=rhythm,
            keeper=self,
            ends=Ends.none(),
            standing=PhaseState(),
        )

    def log(self, step: int, values: dict[str, float]) -> None:
        self.lines.append((step, values))

    def log_validation(self, step: int, values: dict[str, float], seconds: float) -> None:
        self.log(step, values)

    def advance(self, count: int) -> None: ...

    def validate(self, step: int) -> dict[str, Any]:
        return {"goodness": 0.5}

    def keep_best(self, step: int) -> None: ...

    def checkpoint(self, step: int, standing: PhaseState) -> None:
        self.saved.append(step)

    def curve(self) -> list[tuple[int, dict[str, float]]]:
        return [
            (step, {key: value for key, value in values.items() if key != "examples_per_second"})
            for step, values in self.lines
        ]


def test_the_bits_are_those_of_single_steps(monkeypatch: pytest.MonkeyPatch, deterministic_operations: None) -> None:
    """Dropout, batch norm, Adam, averages, a schedule."""
    single = Run(1, monkeypatch)
    single.bake(24)
    several = Run("auto", monkeypatch)
    several.bake(24)
    # Single until the line after step 5 says how long a step takes; then up to lines (5), passes (8), checkpoints (6).
    assert single.taken == [1] * 24
    assert several.taken == [1] * 5 + [1, 2, 2, 2, 3, 1, 2, 2, 4]
    assert weights.digest(several.network) == weights.digest(single.network)
    assert kept_digest(several.learner) == kept_digest(single.learner)
    assert several.curve() == single.curve() and several.saved == single.saved == [6, 12, 18, 24]


def test_the_step_that_diverged_is_found_within_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("auto", monkeypatch)
    with pytest.raises(Diverged, match=r"loss is nan .*step 14\b.*rate 0\.0") as caught:
        run.bake(24, spoilt=13)
    assert 3 in run.taken and caught.value.step == 14 and run.saved == [6, 12]


def ahead(seconds: float | None, at_once: Any = "auto", given: Any = None, together: int = 1) -> list[int]:
    """Lengths of the calls for 20 steps of which every tenth is due, once told how long one takes."""
    one = Calls(lambda *_: {}, noise(1) if given is None else given, together=together, at_once=at_once)
    if seconds is not None:
        one.set_pace(seconds)
    return [len(call) for call in one.ahead(range(20), lambda done: 10 - done % 10)]


def test_a_call_is_as_long_as_half_a_second_holds_and_no_longer_than_asked_for() -> None:
    assert stepping.MOST_SECONDS == 0.5
    assert ahead(None) == [1] * 20
    assert ahead(0.001) == [10, 10]
    assert ahead(0.07) == [7, 3, 7, 3]
    assert ahead(0.4) == ahead(30.0) == [1] * 20
    assert ahead(0.001, at_once=4) == [4, 4, 2, 4, 4, 2]
    assert ahead(0.001, at_once=1) == [1] * 20


def test_batches_that_are_not_of_tf_data_are_taken_one_by_one() -> None:
    assert ahead(0.001, given=batches(1.0)) == [1] * 20


def test_steps_of_several_batches_are_taken_one_by_one() -> None:
    assert ahead(0.001, together=2) == [1] * 20


def test_several_devices_take_single_steps() -> None:
    train = Train(batch_size=4, steps=1)
    assert Rhythm.of(train).steps_per_call == "auto"
    assert Rhythm.of(Train(batch_size=4, steps=1, devices=2)).steps_per_call is None
    assert ahead(0.001, at_once=None) == [1] * 20
