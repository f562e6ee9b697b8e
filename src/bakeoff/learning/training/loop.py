"""The step loop, top to bottom: batches in, gradients, new weights; now and then a line, a validation, a checkpoint."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

from bakeoff.foundation.errors import BakeoffError
from bakeoff.learning.checkpoints.run_state import Best, PhaseState
from bakeoff.learning.metrics.names import merit
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.training.step import AtOnce, Calls
from bakeoff.learning.training.stopping import Ends

MOST_LOSSES = 100  # that are kept before they are read


@dataclass(frozen=True)
class Rhythm:
    """When something is due, by steps; and how many examples a step takes."""

    log_every: int
    validate_every: int  # 0: never before the end of a phase
    checkpoint_every: int
    checkpoint_seconds: float | None = None  # also if so much time went by
    steps_per_call: AtOnce | None = "auto"  # None: every step by itself
    validate_every_examples: float = 0  # instead of steps; 0: by steps
    examples_per_step: int = 1

    @classmethod
    def of(cls, train: Train, examples: int = 0) -> "Rhythm":
        """Return the rhythm that the settings ask for; `examples` make an epoch."""
        return cls(
            train.log_every_steps,
            train.validate_every_steps,
            train.checkpoint_every_steps,
            train.checkpoint_every_seconds,
            train.steps_per_call if train.device_number == 1 else None,  # several devices meet between steps
            (train.validate_every_epochs or 0) * examples,
        )

    def for_steps_of(self, examples: int) -> "Rhythm":
        """Return the rhythm of a phase whose steps take so many examples each."""
        by_examples, every = self.validate_every_examples, self.validate_every
        if by_examples:
            every = max(1, math.ceil(round(by_examples / examples, 6)))
        return replace(self, validate_every=every, examples_per_step=examples)

    def steps_until_due(self, done: int) -> int:
        """Return the steps until something is due that comes by steps."""
        return min(
            every - done % every for every in (self.log_every, self.validate_every, self.checkpoint_every) if every
        )

    def wants_validation(self, done: int) -> bool:
        return self.validate_every > 0 and done % self.validate_every == 0

    def wants_checkpoint(self, done: int, seconds: float) -> bool:
        """Say whether one is due after so many steps, and seconds since the last."""
        late = self.checkpoint_seconds is not None and seconds >= self.checkpoint_seconds
        return late or done % self.checkpoint_every == 0


class Diverged(BakeoffError):
    """Training has left the numbers. What was saved before is whole."""

    def __init__(self, what: str, step: int, rate: float, batch: str = "") -> None:
        self.what, self.step, self.rate = what, step, rate
        remedy = "lower lr.peak or lengthen lr.warmup_steps" + (batch and f", or look at its examples: {batch}")
        super().__init__(f"training diverged: {what} at step {step} with rate {rate:g}; {remedy}")

    def with_examples(self, names: str) -> "Diverged":
        return Diverged(self.what, self.step, self.rate, names)


def require_numbers(arrays: Mapping[str, ArrayLike], step: int, rate: float) -> None:
    """Refuse a checkpoint with anything else: a step can have a loss and yet throw the weights out of the numbers."""
    for array in map(np.asarray, arrays.values()):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise Diverged("the weights are no numbers", step, rate)


class Losses:
    """Losses since they were last read: reading one at every step would make Python wait for the device."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, Sequence[float], tf.Tensor]] = []

    def add(self, done: int, rates: Sequence[float], losses: tf.Tensor) -> None:
        """Add those of the steps up to `done`, with the rate of each; in the row of a step the sum comes first."""
        self._kept.append((done, rates, losses))
        if len(self._kept) >= MOST_LOSSES:
            self.require_finite()

    def require_finite(self) -> None:
        kept, self._kept = self._kept, []
        values = tf.concat([losses for _, _, losses in kept], axis=0).numpy()[:, 0] if kept else ()
        steps = [(done - len(rates) + place, rate) for done, rates, _ in kept for place, rate in enumerate(rates, 1)]
        for (step, rate), value in zip(steps, values, strict=True):
            if not math.isfinite(value):
                raise Diverged(f"the loss is {value}", step, rate)


class Keeper(Protocol):
    """What the loop asks for what must outlast it."""

    headline: str  # the number of a validation by which the best weights are chosen

    def advance(self, count: int) -> None:
        """Note that so many more steps are done."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Keep the losses and the rate of a step."""

    def validate(self, step: int) -> dict[str, Any] | None:
        """Return the numbers of a validation; None if a stop broke it off."""

    def log_validation(self, step: int, values: Mapping[str, float], seconds: float) -> None:
        """Keep the numbers of a validation, which took so long."""

    def keep_best(self, step: int) -> None:
        """Keep the weights: they scored best."""

    def checkpoint(self, step: int, standing: PhaseState) -> None:
        """Keep everything that the next step depends on."""


class Stopwatch:
    """Seconds of steps, without those of validations; and seconds since the last checkpoint."""

    def __init__(self, step: int) -> None:
        self._step, self._since = step, time.monotonic()
        self._saved = self._since

    def seconds_per_step(self, done: int) -> float:
        """Return the mean since the last call."""
        now = time.monotonic()
        pace = (now - self._since) / (done - self._step)
        self._step, self._since = done, now
        return pace

    def leave_out(self, seconds: float) -> None:
        self._since += seconds

    def seconds_since_checkpoint(self) -> float:
        return time.monotonic() - self._saved

    def saved(self) -> None:
        self._saved = time.monotonic()


def seed_everything(seed: int, deterministic: bool) -> None:
    keras.utils.set_random_seed(seed)
    # TensorFlow's pass that thins out control dependencies loses some that a step needs: an optimizer may then change a
    # weight before the forward pass has read it, now and then (2.21, CPU).
    tf.config.optimizer.set_experimental_options({"dependency_optimization": False})
    if deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(
    calls: Calls,
    steps: range,
    rate_of: Callable[[int], float],
    *,
    rhythm: Rhythm,
    keeper: Keeper,
    ends: Ends,
    standing: PhaseState,
) -> PhaseState:
    """Take `steps`, unless something ends them early.

    The last step is logged, validated and kept, but one that a stop made the last is only kept: the lines and
    validations of a run that is stopped and resumed are those of a run that was never stopped.
    """
    losses, watch = Losses(), Stopwatch(steps.start)
    if standing.owes_validation:
        standing = _validate(steps.start, standing, keeper, ends, watch)
        if standing.owes_validation:
            return replace(standing, ended_by="stop")
        standing = replace(standing, ended_by=ends.end_at(steps.start, steps, standing.patience))
        if standing.ended_by:
            keeper.checkpoint(steps.start, standing)
            return standing
    for call in calls.ahead(steps, rhythm.steps_until_due):
        rates = [rate_of(step) for step in call]
        taken, done = calls.take(rates), call.stop
        losses.add(done, rates, taken)
        ends.stop.step_is_done()
        time_is_up = ends.limit.is_up(done)
        last = done == steps.stop or time_is_up
        if last or done % rhythm.log_every == 0:
            losses.require_finite()
            pace, values = watch.seconds_per_step(done), calls.name_losses(taken[-1])
            calls.set_pace(pace)
            speed = {"learning_rate": rates[-1], "examples_per_second": rhythm.examples_per_step / max(pace, 1e-9)}
            keeper.log(done, values | speed)
            ends.limit.logged(done, pace)
        keeper.advance(len(call))
        if last or rhythm.wants_validation(done):
            standing = _validate(done, standing, keeper, ends, watch)
            time_is_up = time_is_up and ends.limit.is_up(done)  # the steps may have been faster than predicted
        if not standing.owes_validation:
            standing = replace(standing, ended_by=ends.end_at(done, steps, standing.patience, time_is_up))
        is_over = standing.ended_by is not None or ends.stop.asked
        is_due = rhythm.wants_checkpoint(done, watch.seconds_since_checkpoint())
        # How long writing takes counts for the limit.
        is_measured = ends.limit.minutes is None or done > steps.start + 1
        if is_over or is_due or not is_measured:
            losses.require_finite()  # a checkpoint with non-finite losses must not replace the one before
            keeper.checkpoint(done, standing)
            watch.saved()
        if is_over:
            return replace(standing, ended_by=standing.ended_by or "stop")
    return standing


def _validate(done: int, standing: PhaseState, keeper: Keeper, ends: Ends, watch: Stopwatch) -> PhaseState:
    before = time.monotonic()
    result = None if ends.stop.asked else keeper.validate(done)
    if result is None:
        return replace(standing, owes_validation=True)
    best, value = standing.best, result.get(keeper.headline)
    value = None if value is None else merit(keeper.headline, value)
    numbers = {f"validation/{name}": value for name, value in result.items() if isinstance(value, float)}
    keeper.log_validation(done, numbers, time.monotonic() - before)
    if best.is_beaten_by(value):
        best = Best(done, value)
        keeper.keep_best(done)
    took = time.monotonic() - before
    ends.limit.validated(took)
    watch.leave_out(took)
    return PhaseState(best, ends.early.after(standing.patience, value))
