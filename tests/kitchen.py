"""Runs of several legs in a folder, cut short and taken up again as often as a test likes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.lr import Constant
from bakeoff.progress import Bar
from bakeoff.training import weights
from bakeoff.training.average import Average
from bakeoff.training.course import Outcome, run_legs
from bakeoff.training.early_stopping import EarlyStopping
from bakeoff.training.ending import Clock, Ends, TimeLimit
from bakeoff.training.history import History, metrics_of, read_history
from bakeoff.training.learner import Learner
from bakeoff.training.loop import Rhythm, seed_everything
from bakeoff.training.optimizers import Adam, Momentum, Optimizer
from bakeoff.training.phases import Leg, Span
from bakeoff.training.step import Batch
from bakeoff.training.stopping import Stop
from bakeoff.training.work import Work
from slope import Slope, one_weight

PLAIN = Momentum(momentum=0.0, nesterov=False)


def leg(name: str, first_step: int, steps: int, rate: float, first_example: int = 0, **more: Any) -> Leg:
    span = Span(name, first_step, steps, first_example, more.pop("batch_size", 1), more.pop("rate_factor", 1.0))
    return Leg(span, more.pop("lr", Constant(rate)), more.pop("trainable", ()), more.pop("start", "last"))


@dataclass(frozen=True)
class Ones:
    """Feeds inputs of 1, and writes down what it was asked for."""

    together: int = 1
    asked: list[tuple[str, range]] = field(default_factory=list)

    def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
        self.asked.append((leg.span.name, steps))
        one = tf.ones([leg.span.batch_size, 1])
        return ((one, {"factor": one}) for _ in range(len(steps) * self.together))


class Interrupted(Exception):
    pass


class Kitchen:
    """`run_legs` of a network, in a folder, as often as one likes."""

    def __init__(self, folder: Path, legs: list[Leg], network: Callable[[], keras.Model] = one_weight) -> None:
        self.folder, self.legs, self.new_network = folder, legs, network
        self.optimizer: Optimizer = PLAIN
        self.decay = 0.0
        self.feed: Any = Ones()
        self.goodness: dict[int, float] = {}  # by step; 0.5 where it is not said
        self.rhythm = Rhythm(log_every=1, validate_every=0, checkpoint_every=1)
        self.sent: list[int] = []
        self.network = one_weight()
        self.minutes: float | None = None
        self.early = EarlyStopping()
        self.stop_at = 0  # a step, whose line makes somebody ask for a stop

    def send(self, step: int, values: dict[str, float]) -> None:
        self.sent.append(step)
        if step == self.stop_at:
            self.ends.stop.by = "a test"

    def bake(self, interrupt_at: int = 0, **more: Any) -> Outcome:
        """Up to the end, or to a step after whose line it is interrupted."""
        seed_everything(3, deterministic=False)
        self.network = self.new_network()
        average = Average(self.new_network(), self.decay) if self.decay else None
        learner = Learner(
            self.network, average=average, parts={"all": ("*",)}, task=Slope(),  # type: ignore[arg-type]
            optimizer=self.optimizer, strategy=tf.distribute.get_strategy(),
        )  # fmt: skip
        self.learner = learner

        def validate() -> dict[str, Any] | None:
            step, _ = metrics_of(history.lines[-1])
            if interrupt_at and step >= interrupt_at:
                raise Interrupted
            return {"goodness": self.goodness.get(step, 0.5)}

        with Work(self.folder, [leg.span.name for leg in self.legs]) as work:
            found = work.newest()
            self.ends = Ends(Stop(), TimeLimit(self.minutes, Clock(found.facts["seconds"])), self.early)
            with History(self.folder, found.facts["history"]) as history:
                return run_legs(
                    self.legs, learner, work, found=found, feed=self.feed, rhythm=self.rhythm, ends=self.ends,
                    validate=validate, headline="goodness", history=history, send=self.send,
                    bar=Bar("train", 1, "steps", None), **more,
                )  # fmt: skip


def noisy_network() -> keras.Model:
    given = keras.Input((1,))
    x = keras.layers.Dense(4, name="first")(given)
    x = keras.layers.Dropout(0.4, name="drop")(keras.layers.BatchNormalization(name="norm")(x))
    return keras.Model(given, keras.layers.Dense(1, name="last")(x))


@dataclass(frozen=True)
class Noise:
    """Feeds random numbers that depend on the step alone."""

    together: int = 2

    def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
        for number in range(steps.start * self.together, steps.stop * self.together):
            values = np.random.default_rng(number).normal(size=(4, 1)).astype(np.float32)
            yield tf.constant(values), {"factor": tf.constant(values**2)}


def noisy(folder: Path) -> Kitchen:
    legs = [leg("head", 0, 3, 0.05, trainable=("last",)), leg("all", 3, 4, 0.02, start="best"), leg("slow", 7, 2, 0.01)]
    kitchen = Kitchen(folder, legs, noisy_network)
    kitchen.optimizer, kitchen.decay, kitchen.feed = Adam(weight_decay=0.1), 0.8, Noise()
    kitchen.goodness = {1: 0.2, 2: 0.4, 3: 0.3, 5: 0.8, 6: 0.1}
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=2)
    return kitchen


def curve(kitchen: Kitchen) -> list[dict[str, Any]]:
    """The history without what the clock says."""
    rows = read_history(kitchen.folder)
    return [{key: row[key] for key in row if key != "examples_per_second"} for row in rows]


def digests(kitchen: Kitchen) -> list[str]:
    return [weights.digest(kitchen.network), weights.digest(kitchen.learner.kept)]
