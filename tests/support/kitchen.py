"""Runs of several phases in a folder, cut short and taken up again as often as a test likes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.checkpoints.history import LogLine, read_history
from bakeoff.learning.checkpoints.run_folder import CheckpointList, RunFolder
from bakeoff.learning.checkpoints.run_state import Best
from bakeoff.learning.lr.decays import Constant
from bakeoff.learning.networks import weights
from bakeoff.learning.plan.optimizers import Adam, Momentum, Optimizer
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.plan.train_settings import EarlyStopping
from bakeoff.learning.tasks.task import Tensors
from bakeoff.learning.training.average import Average
from bakeoff.learning.training.callbacks import Callback, HistoryFile
from bakeoff.learning.training.loop import Rhythm, seed_everything
from bakeoff.learning.training.stopping import Clock, Ends, Stop, TimeLimit
from bakeoff.learning.training.trainer_state import Learner
from bakeoff.learning.training.training import Training, TrainingResult
from support.slope import Slope, one_weight

PLAIN = Momentum(momentum=0.0, nesterov=False)


def phase(name: str, first_step: int, steps: int, rate: float, first_example: int = 0, **more: Any) -> TrainingPhase:
    span = Span(name, first_step, steps, first_example, more.pop("batch_size", 1), more.pop("rate_factor", 1.0))
    return TrainingPhase(span, more.pop("lr", Constant(rate)), more.pop("trainable", ()), more.pop("start", "last"))


@dataclass(frozen=True)
class Ones:
    """Feeds inputs of 1, and writes down what it was asked for."""

    together: int = 1
    asked: list[tuple[str, range]] = field(default_factory=list)

    def batches(self, phase: TrainingPhase, steps: range) -> Iterable[Tensors]:
        self.asked.append((phase.span.name, steps))
        one = tf.ones([phase.span.batch_size, 1])
        return ({"image": one, "factor": one} for _ in range(len(steps) * self.together))


class Interrupted(Exception):
    pass


class Kitchen:
    """`Training` of a network, in a folder, as often as one likes."""

    def __init__(
        self, folder: Path, phases: list[TrainingPhase], network: Callable[[], keras.Model] = one_weight
    ) -> None:
        self.folder, self.phases, self.new_network = folder, phases, network
        self.optimizer: Optimizer = PLAIN
        self.decay = 0.0
        self.feed: Any = Ones()
        self.goodness: dict[int, float] = {}  # by step; 0.5 where it is not said
        self.rhythm = Rhythm(log_every=1, validate_every=0, checkpoint_every=1)
        self.sent: list[int] = []
        self.network = one_weight()
        self.minutes: float | None = None
        self.early = EarlyStopping()
        self.tell: Callable[[CheckpointList], object] = lambda stock: None  # of each checkpoint
        self.stop_at = 0  # a step, whose line makes somebody ask for a stop

    def send(self, step: int, values: Mapping[str, float]) -> None:
        self.sent.append(step)
        if step == self.stop_at:
            self.ends.stop.by = "a test"

    def bake(self, interrupt_at: int = 0, callbacks: Sequence[Callback] = ()) -> TrainingResult:
        """Up to the end, or to a step after whose line it is interrupted."""
        seed_everything(3, deterministic=False)
        self.network = self.new_network()
        average = Average(self.network, self.decay) if self.decay else None
        learner = Learner(
            self.network, average=average, parts={"all": ("*",)}, task=Slope(),  # type: ignore[arg-type]
            optimizer=self.optimizer, strategy=tf.distribute.get_strategy(),
        )  # fmt: skip
        self.learner = learner

        def validate() -> dict[str, Any] | None:
            step = self.training.history[-1].step
            if interrupt_at and step >= interrupt_at:
                raise Interrupted
            return {"goodness": self.goodness.get(step, 0.5)}

        names = [phase.span.name for phase in self.phases]
        with RunFolder(self.folder, names) as work:
            saved = work.newest()
            self.ends = Ends(Stop(), TimeLimit(self.minutes, Clock(saved.state.seconds)), self.early)
            self.training = Training(
                learner, self.feed, validate, "goodness", self.phases, self.rhythm, self.ends, work
            )
            return self.training.run(saved, [HistoryFile(self.folder), Follower(self), *callbacks])


class Follower(Callback):
    """Writes down the steps of all lines, and asks for a stop after one of them."""

    def __init__(self, kitchen: Kitchen) -> None:
        self._kitchen = kitchen

    def on_log(self, line: LogLine) -> None:
        self._kitchen.send(line.step, line.values)

    def on_validation(self, line: LogLine, seconds: float) -> None:
        self.on_log(line)

    def on_checkpoint(self, stock: CheckpointList) -> None:
        self._kitchen.tell(stock)


def noisy_network() -> keras.Model:
    given = keras.Input((1,))
    x = keras.layers.Dense(4, name="first")(given)
    x = keras.layers.Dropout(0.4, name="drop")(keras.layers.BatchNormalization(name="norm")(x))
    return keras.Model(given, keras.layers.Dense(1, name="last")(x))


@dataclass(frozen=True)
class Noise:
    """Feeds random numbers that depend on the step alone."""

    together: int = 2

    def batches(self, phase: TrainingPhase, steps: range) -> Iterable[Tensors]:
        for number in range(steps.start * self.together, steps.stop * self.together):
            values = np.random.default_rng(number).normal(size=(4, 1)).astype(np.float32)
            yield {"image": tf.constant(values), "factor": tf.constant(values**2)}


def noisy(folder: Path) -> Kitchen:
    phases = [
        phase("head", 0, 3, 0.05, trainable=("last",)),
        phase("all", 3, 4, 0.02, start="best"),
        phase("slow", 7, 2, 0.01),
    ]
    kitchen = Kitchen(folder, phases, noisy_network)
    kitchen.optimizer, kitchen.decay, kitchen.feed = Adam(weight_decay=0.1), 0.8, Noise()
    kitchen.goodness = {1: 0.2, 2: 0.4, 3: 0.3, 5: 0.8, 6: 0.1}
    kitchen.rhythm = Rhythm(log_every=1, validate_every=1, checkpoint_every=2)
    return kitchen


def curve(kitchen: Kitchen) -> list[dict[str, Any]]:
    """The history without what the clock says."""
    rows = read_history(kitchen.folder)
    return [{key: row[key] for key in row if key != "examples_per_second"} for row in rows]


def digests(kitchen: Kitchen) -> list[str]:
    return [weights.digest(kitchen.network), kept_digest(kitchen.learner)]


def kept_digest(learner: Learner) -> str:
    with learner.kept() as network:
        return weights.digest(network)


def bests(outcome: TrainingResult) -> list[Best]:
    return [standing.best for standing in outcome.standings]
