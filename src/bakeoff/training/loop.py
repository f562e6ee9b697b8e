"""The step loop, top to bottom: batches in, gradients, new weights; now and then a line, a look, a checkpoint."""

import itertools
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from bakeoff.errors import BakeoffError
from bakeoff.progress import Bar
from bakeoff.training.settings import Train
from bakeoff.training.step import Batch, Step

Log = Callable[[int, dict[str, float]], object]


class Diverged(BakeoffError):
    """The loss is no number any more."""


@dataclass(frozen=True)
class Rhythm:
    log_every: int
    validate_every: int  # 0: never before the end of a leg
    checkpoint_every: int
    checkpoint_seconds: float | None = None  # also if so much time went by

    @classmethod
    def of(cls, train: Train) -> "Rhythm":
        return cls(
            train.log_every_steps,
            train.validate_every_steps,
            train.checkpoint_every_steps,
            train.checkpoint_every_seconds,
        )

    def wants_checkpoint(self, done: int, seconds: float) -> bool:
        """After so many steps, and seconds since the last."""
        late = self.checkpoint_seconds is not None and seconds >= self.checkpoint_seconds
        return late or done % self.checkpoint_every == 0


@dataclass(frozen=True)
class Best:
    """The best look at validation so far."""

    step: int = 0  # 0: there was none
    value: float | None = None  # None: there is nothing to count it on, such as no box in any image

    def is_beaten_by(self, value: float | None) -> bool:
        return self.step == 0 or (value is not None and (self.value is None or value > self.value))


def seed_everything(seed: int, deterministic: bool) -> None:
    keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(
    train_step: Step,
    *,
    steps: range,
    batches: Iterable[Batch],
    together: int = 1,
    rate_of: Callable[[int], float],
    rhythm: Rhythm,
    validate: Callable[[], dict[str, Any]],
    headline: str,
    log: Log,
    best: Best,
    keep_best: Callable[[int], None],
    checkpoint: Callable[[int, Best], None],
    bar: Bar,
) -> Best:
    """Take `steps`, each of so many batches `together`; the last is always logged, validated and kept."""
    upcoming = iter(batches)
    logged, since = steps.start, time.monotonic()
    saved = since
    for step in steps:
        rate = rate_of(step)
        taken = list(itertools.islice(upcoming, together))
        losses = train_step(taken, tf.constant(rate, tf.float32))
        done = step + 1
        last = done == steps.stop
        if last or done % rhythm.log_every == 0:
            values = {name: float(value) for name, value in losses.items()}
            now = time.monotonic()
            speed = (done - logged) * len(taken) * len(taken[0][0]) / max(now - since, 1e-9)
            logged, since = done, now
            _require_finite(values["train/loss"], done, rate)
            log(done, values | {"learning_rate": rate, "examples_per_second": speed})
            bar.note(f"loss {values['train/loss']:.3f}")
        bar.advance()
        if last or (rhythm.validate_every and done % rhythm.validate_every == 0):
            pause = time.monotonic()
            result = validate()
            log(done, {f"validation/{name}": value for name, value in result.items() if isinstance(value, float)})
            if best.is_beaten_by(result.get(headline)):
                best = Best(done, result.get(headline))
                keep_best(done)
            since += time.monotonic() - pause
        if last or rhythm.wants_checkpoint(done, time.monotonic() - saved):
            _require_finite(float(losses["train/loss"]), done, rate)  # or the checkpoint before would be lost for it
            checkpoint(done, best)
            saved = time.monotonic()
    return best


def _require_finite(loss: float, step: int, rate: float) -> None:
    if not math.isfinite(loss):
        raise Diverged(
            f"training diverged: the loss is {loss} at step {step} with rate {rate:g}; "
            "lower lr.peak or lengthen lr.warmup_steps"
        )
