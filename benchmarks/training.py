"""How fast training goes with everything on, against a bare compiled loop and against Keras' `model.fit`.

    python benchmarks/training.py                  # three networks of conf/model, about ten minutes on two idle cores
    python benchmarks/training.py --networks cnn_small --repeats 3

All three take the same steps of the same network on one batch that stays in memory, so that input is no limit:

    bare       a Python loop over the compiled step, its losses read once, at the end
    fit        model.fit, silent, with the task's loss
    bakeoff    the course of a run: journal, losses and rate logged every 10 steps, a checkpoint every 100
    singly     the same with train.steps_per_call: 1

Deterministic operations are on, as they are by default. The arms take turns, so that a busy moment hits all alike; what
is shown are medians over the turns, and of ratios the median over turns of the ratio within a turn. `processor` is the
time that all threads of the process took, which says more where others use the machine as well.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import keras
import tensorflow as tf
from made_up import CLASSES, made_up_batch, read_option
from result import print_result

from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_folder import RunFolder
from bakeoff.learning.lr.decays import Constant
from bakeoff.learning.plan.optimizers import Adam
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.tasks.task import Task
from bakeoff.learning.training.callbacks import Callback, HistoryFile
from bakeoff.learning.training.loop import Rhythm, seed_everything
from bakeoff.learning.training.step import AtOnce
from bakeoff.learning.training.stopping import Ends
from bakeoff.learning.training.trainer_state import Learner, new_learner
from bakeoff.learning.training.training import Training

RATE = 1e-4
BATCH_SIZES = {"ssd_small": 8, "cnn_small": 16, "cnn_tiny": 16, "clip_small": 8}
CHANGED = {"cnn_tiny": ("cnn_small", {"width": 0.25, "input_size": 32})}
WARM_UP_STEPS = 20  # two lines of the journal: after the second it is known how long a step takes
Times = tuple[float, float]  # seconds by the clock, and of all threads
CHECKPOINT_EVERY = Train(batch_size=1, steps=1).checkpoint_every_steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=sorted(BATCH_SIZES), choices=sorted(BATCH_SIZES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each arm in each turn, about")
    arguments = parser.parse_args()
    seed_everything(0, deterministic=True)
    print(f"{'network':12} {'arm':8} {'ms/step':>8} {'least':>7} {'most':>7} {'bare / it':>9} {'fit / it':>8}", end="")
    print(f" {'processor':>10} {'bare / it':>9} {'fit / it':>8}")
    for name in arguments.networks:
        compare(name, Kitchen(name), arguments.repeats, arguments.seconds)


def now() -> Times:
    return time.perf_counter(), time.process_time()


def since(then: Times) -> Times:
    return time.perf_counter() - then[0], time.process_time() - then[1]


class Kitchen:
    """A network that trains, one batch, and the three ways to train it."""

    def __init__(self, name: str) -> None:
        self.model, self.task = read_option(*CHANGED.get(name, (name, {})))
        self.batch_size = BATCH_SIZES[name]
        self.batch = made_up_batch(self.model, self.task, self.batch_size)
        self.learner = self.new_learner()
        self.step = self.learner.begin((), "train.trainable")
        self.fitted = fitted(self.learner.network, self.task)

    def new_learner(self) -> Learner:
        train = Train(batch_size=self.batch_size, steps=1)
        return new_learner(self.model, CLASSES, self.task, Adam(), train, tf.distribute.get_strategy())

    def batches(self, steps: int) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensors(self.batch).repeat(steps).prefetch(2)

    def bare(self, steps: int) -> Times:
        rate = tf.constant(RATE)
        started = now()
        for _ in range(steps):
            losses = self.step([self.batch], rate)
        float(losses["train/loss"])
        return since(started)

    def fit(self, steps: int) -> Times:
        watch = Watch(WARM_UP_STEPS)
        pairs = self.batches(steps + WARM_UP_STEPS).map(lambda batch: (batch["image"], batch))
        self.fitted.fit(pairs, verbose=0, callbacks=[watch])
        return since(watch.started)

    def bakeoff(self, steps: int, steps_per_call: AtOnce = "auto") -> Times:
        clock = StartedAt(WARM_UP_STEPS)
        phase = TrainingPhase(
            Span("all", 0, steps + WARM_UP_STEPS, 0, self.batch_size, 1.0), Constant(RATE), (), "last"
        )
        with tempfile.TemporaryDirectory() as folder, RunFolder(Path(folder), ["all"]) as work:
            training = Training(
                learner=self.learner,
                feed=Repeated(self),  # type: ignore[arg-type]
                validation=lambda: {self.task.headline: 0.5},
                headline=self.task.headline,
                phases=[phase],
                rhythm=Rhythm.of(Train(batch_size=1, steps=1, steps_per_call=steps_per_call)),
                ends=Ends.none(),
                work=work,
            )
            training.run(work.newest(), [HistoryFile(Path(folder)), clock])
            return since(clock.started)

    def checkpoint_milliseconds(self) -> tuple[float, float]:
        """Of which the loop waits, and of the processor beside it."""
        waited, beside = [], []
        with tempfile.TemporaryDirectory() as folder:
            for number in range(9):
                started = time.perf_counter()
                state = self.learner.state()
                taken, used = time.perf_counter() - started, time.thread_time()
                checkpoint.write(Path(folder) / f"{number:08d}", {"history": []}, state)
                waited.append(taken * 1000)
                beside.append((time.thread_time() - used) * 1000)
        return statistics.median(waited), statistics.median(beside)


class StartedAt(Callback):
    """Reads the clock after a step."""

    def __init__(self, step: int) -> None:
        self.step, self.started = step, (0.0, 0.0)

    def on_log(self, line: LogLine) -> None:
        self.started = now() if line.step == self.step else self.started


@dataclass(frozen=True)
class Repeated:
    """A feed of one batch."""

    kitchen: Kitchen
    together: int = 1

    def batches(self, phase: TrainingPhase, steps: range) -> tf.data.Dataset:
        return self.kitchen.batches(len(steps))


class Watch(keras.callbacks.Callback):
    def __init__(self, after: int) -> None:
        super().__init__()
        self.after, self.started = after, (0.0, 0.0)

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        if batch == self.after:
            self.started = now()


def fitted(network: keras.Model, task: Task) -> keras.Model:
    """The network with the task's loss, as `fit` wants it."""

    class Fitted(keras.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):  # type: ignore[no-untyped-def]
            return tf.add_n([*task.losses(y_pred, y).values(), *self.losses])

    model = Fitted(network.inputs, network.output)
    model.compile(optimizer=Adam().build(network))
    return model


def compare(name: str, kitchen: Kitchen, repeats: int, seconds: float) -> None:
    arms: dict[str, Callable[[int], Times]] = {
        "bare": kitchen.bare, "fit": kitchen.fit, "bakeoff": kitchen.bakeoff,
        "singly": lambda steps: kitchen.bakeoff(steps, 1),
    }  # fmt: skip
    kitchen.bare(5)
    # Whole intervals between checkpoints: none is paid for that is not due.
    steps = max(1, round(seconds / kitchen.bare(20)[0] * 20 / CHECKPOINT_EVERY)) * CHECKPOINT_EVERY
    walls: dict[str, list[float]] = {arm: [] for arm in arms}
    processors: dict[str, list[float]] = {arm: [] for arm in arms}
    for turn in range(repeats + 1):
        for arm, train in arms.items():
            seconds, processor = train(steps)
            if turn:  # the first compiles
                walls[arm].append(seconds / steps * 1000)
                processors[arm].append(processor / steps * 1000)
    for arm in arms:
        print(
            f"{name:12} {arm:8} {statistics.median(walls[arm]):8.2f} {min(walls[arm]):7.2f} {max(walls[arm]):7.2f}"
            f" {ratio(walls, 'bare', arm):9.3f} {ratio(walls, 'fit', arm):8.3f}"
            f" {statistics.median(processors[arm]):10.2f} {ratio(processors, 'bare', arm):9.3f}"
            f" {ratio(processors, 'fit', arm):8.3f}",
            flush=True,
        )
    what, (there, here) = f"a step of `{name}`", (statistics.median(processors[arm]) for arm in ("bare", "bakeoff"))
    ours = 1 / ratio(processors, "bare", "bakeoff")
    print_result(what, f"{here:.1f} ms of CPU", f"{there:.1f} ms", ratio=ours, other="a bare compiled loop")
    waited, beside = kitchen.checkpoint_milliseconds()
    interval = CHECKPOINT_EVERY * min(walls["bare"])
    print(
        f"{name:12} a checkpoint takes {waited:.1f} ms in the loop and {beside:.1f} ms of a processor beside it: "
        f"{waited / interval:.2%} and {beside / interval:.2%} of {CHECKPOINT_EVERY} steps"
    )


def ratio(taken: dict[str, list[float]], than: str, arm: str) -> float:
    return statistics.median(other / mine for other, mine in zip(taken[than], taken[arm], strict=True))


if __name__ == "__main__":
    main()
