"""The step loop, top to bottom: batches in, gradients, new weights; now and then a line, a look, a checkpoint."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import tensorflow as tf

from bakeoff.progress import Bar
from bakeoff.training.calls import AtOnce, Calls
from bakeoff.training.divergence import Losses
from bakeoff.training.early_stopping import Patience
from bakeoff.training.ending import End, Ends
from bakeoff.training.settings import Train
from bakeoff.training.step import Batch, Step

Log = Callable[[int, dict[str, float]], object]


@dataclass(frozen=True)
class Rhythm:
    log_every: int
    validate_every: int  # 0: never before the end of a leg
    checkpoint_every: int
    checkpoint_seconds: float | None = None  # also if so much time went by
    steps_per_call: AtOnce | None = "auto"  # None: every step by itself
    validate_every_examples: float = 0  # instead of steps; 0: by steps

    @classmethod
    def of(cls, train: Train, examples: int = 0) -> "Rhythm":
        """`examples` make an epoch."""
        return cls(
            train.log_every_steps,
            train.validate_every_steps,
            train.checkpoint_every_steps,
            train.checkpoint_every_seconds,
            train.steps_per_call if train.devices == 1 else None,  # several devices meet between steps
            (train.validate_every_epochs or 0) * examples,
        )

    def for_steps_of(self, examples: int) -> "Rhythm":
        """For a leg whose steps take so many examples each."""
        if not self.validate_every_examples:
            return self
        return replace(self, validate_every=max(1, math.ceil(round(self.validate_every_examples / examples, 6))))

    def steps_until_due(self, done: int) -> int:
        """Until something is due that comes by steps."""
        return min(
            every - done % every for every in (self.log_every, self.validate_every, self.checkpoint_every) if every
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


@dataclass(frozen=True)
class Standing:
    """What a leg knows besides its weights, and goes on with after an interruption."""

    best: Best = Best()
    patience: Patience = field(default_factory=Patience)
    owes_look: bool = False  # a stop came before the last step could be validated
    ended_by: End | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Standing":
        """From `asdict`, as a checkpoint holds it."""
        parts = {"best": Best(**facts["best"]), "patience": Patience(**facts["patience"])}
        return cls(**{**facts, **parts})


def seed_everything(seed: int, deterministic: bool) -> None:
    keras.utils.set_random_seed(seed)
    # TensorFlow's pass that thins out control dependencies loses some that a step needs: an optimizer may then change a
    # weight before the forward pass has read it, now and then (2.21, CPU).
    tf.config.optimizer.set_experimental_options({"dependency_optimization": False})
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
    validate: Callable[[], dict[str, Any] | None],
    headline: str,
    log: Log,
    standing: Standing,
    keep_best: Callable[[int], None],
    checkpoint: Callable[[int, Standing], None],
    examples_per_step: int,
    ends: Ends,
    bar: Bar,
) -> Standing:
    """Take `steps`, each of so many batches `together`, unless something ends them early.

    The last step is logged, validated and kept, but one that a stop made the last is only kept: the lines and looks of
    a run that is stopped and goes on are those of a run that was never stopped. `validate` gives None if a stop came.
    """

    calls, losses_so_far = Calls(train_step, batches, together=together, at_once=rhythm.steps_per_call), Losses()
    logged, since = steps.start, time.monotonic()
    saved = since

    def look(done: int, standing: Standing) -> Standing:
        nonlocal since
        before = time.monotonic()
        result = None if ends.stop.asked else validate()
        if result is None:
            return replace(standing, owes_look=True)
        value, best = result.get(headline), standing.best
        log(done, {f"validation/{name}": value for name, value in result.items() if isinstance(value, float)})
        if best.is_beaten_by(value):
            best = Best(done, value)
            keep_best(done)
        took = time.monotonic() - before
        ends.limit.looked(took)
        since += took
        return Standing(best, ends.early.after(standing.patience, value))

    if standing.owes_look:
        standing = look(steps.start, standing)
        if standing.owes_look:
            return replace(standing, ended_by="stop")
        standing = replace(standing, ended_by=_end_at(steps.start, steps, ends, standing))
        if standing.ended_by:
            checkpoint(steps.start, standing)
            return standing
    for call in calls.ahead(steps, rhythm.steps_until_due):
        rates = [rate_of(step) for step in call]
        losses = calls.take(rates)
        done, rate = call.stop, rates[-1]
        losses_so_far.add(done, rates, losses)
        ends.stop.step_is_done()
        time_is_up = ends.limit.is_up(done)
        last = done == steps.stop or time_is_up
        if last or done % rhythm.log_every == 0:
            values = dict(zip(calls.losses, losses[-1].numpy().tolist(), strict=True))
            pace = (time.monotonic() - since) / (done - logged)
            logged, since = done, time.monotonic()
            losses_so_far.require_finite()
            calls.told(pace)
            speed = examples_per_step / max(pace, 1e-9)
            log(done, values | {"learning_rate": rate, "examples_per_second": speed})
            bar.note(f"loss {values['train/loss']:.3f}")
            ends.limit.logged(done, pace)
        bar.advance(len(call))
        if last or (rhythm.validate_every and done % rhythm.validate_every == 0):
            standing = look(done, standing)
            time_is_up = time_is_up and ends.limit.is_up(done)  # a look can be quicker than it was thought to be
        if not standing.owes_look:
            standing = replace(standing, ended_by=_end_at(done, steps, ends, standing, time_is_up))
        is_over = standing.ended_by is not None or ends.stop.asked
        is_due = rhythm.wants_checkpoint(done, time.monotonic() - saved)
        # How long writing takes counts for the limit.
        is_measured = ends.limit.minutes is None or done > steps.start + 1
        if is_over or is_due or not is_measured:
            losses_so_far.require_finite()  # or the checkpoint before would be lost for it
            checkpoint(done, standing)
            saved = time.monotonic()
        if is_over:
            return replace(standing, ended_by=standing.ended_by or "stop")
    return standing


def _end_at(done: int, steps: range, ends: Ends, standing: Standing, time_is_up: bool = False) -> End | None:
    if time_is_up:
        return "max_minutes"
    if done == steps.stop:
        return "steps"
    return "early_stopping" if ends.early.is_over(standing.patience) else None
