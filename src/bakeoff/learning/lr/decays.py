"""Schedules that warm up to a peak and then decay from it, or stay there: constant, polynomial, cosine, exponential."""

import math
from dataclasses import dataclass, replace
from typing import Self

from bakeoff.foundation.errors import require
from bakeoff.learning.lr.schedule import (
    Turn,
    fill_length,
    fill_warmup,
    require_shorter,
    require_total,
    require_warmup,
    rise,
    share_done,
    turns_at,
    warmup_of,
)


@dataclass(frozen=True)
class Constant:
    """`peak` after a linear rise over `warmup_steps`."""

    peak: float
    warmup_steps: int | None = 0  # None: a fortieth of the run
    warmup_from: float | None = None  # None: peak / (warmup_steps + 1), as if it had been 0 one step before the first
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmup(self)

    def __call__(self, step: int) -> float:
        return rise(self, step)

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        return fill_warmup(self, steps)

    def turns(self) -> list[Turn]:
        return turns_at(warmup_of(self), "peak")


@dataclass(frozen=True)
class Polynomial:
    """From `peak` after the warm-up to `end_rate` at `total_steps`, along (1 - done) ^ `power`."""

    peak: float
    end_rate: float = 0.0
    power: float = 1.0
    warmup_steps: int | None = 0
    warmup_from: float | None = None
    total_steps: int | None = None
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmup(self)
        require(0 <= self.end_rate <= self.peak, "end_rate", self.end_rate, f"between 0 and peak={self.peak:g}")
        require(self.power > 0, "power", self.power, "above 0")
        require_total(self.total_steps, max(1, self.warmup_steps or 0))

    def __call__(self, step: int) -> float:
        assert self.total_steps is not None, "over(...) comes first"
        warmup = warmup_of(self)
        if step < warmup:
            return rise(self, step)
        done = share_done(step, warmup, self.total_steps)
        return self.end_rate + (self.peak - self.end_rate) * (1 - done) ** self.power

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        return fill_length(fill_warmup(self, steps), steps)

    def turns(self) -> list[Turn]:
        assert self.total_steps is not None
        return [*turns_at(warmup_of(self), "fall"), (self.total_steps, "end")]


@dataclass(frozen=True)
class Cosine:
    """Linear rise over `warmup_steps`, `hold_steps` at the peak, then half a cosine down to zero at `total_steps`."""

    peak: float
    warmup_steps: int | None = 0
    warmup_from: float | None = None
    hold_steps: int = 0
    total_steps: int | None = None  # None: as many as the run has
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmup(self)
        require(self.hold_steps >= 0, "hold_steps", self.hold_steps, "0 or more")
        if self.total_steps is not None:
            start = (self.warmup_steps or 0) + self.hold_steps
            rule = f"at least warm-up and hold, {start}"
            require(self.total_steps >= max(1, start), "total_steps", self.total_steps, rule)

    def __call__(self, step: int) -> float:
        assert self.total_steps is not None, "over(...) comes first"
        start = warmup_of(self) + self.hold_steps
        if step < start:
            return rise(self, step)
        done = share_done(step, start, self.total_steps)
        return 0.5 * self.peak * (1 + math.cos(math.pi * done))

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        filled = fill_length(fill_warmup(self, steps), steps)
        start = warmup_of(filled) + filled.hold_steps
        rule = f"above warm-up and hold, {start}"
        require(filled.total_steps is not None and filled.total_steps > start, "total_steps", filled.total_steps, rule)
        return filled

    def turns(self) -> list[Turn]:
        assert self.total_steps is not None
        start = warmup_of(self) + self.hold_steps
        held = turns_at(warmup_of(self), "hold") if self.hold_steps else []
        return [*held, *turns_at(start, "cosine"), (self.total_steps, "zero")]


@dataclass(frozen=True)
class Exponential:
    """`peak` x `decay_factor` ^ (steps / `decay_steps`), in stairs or smoothly, never under `floor`.

    The exponent counts from the end of the warm-up, or of a burn-in at `burn_in_rate`.
    """

    peak: float
    decay_factor: float
    decay_steps: int | None = None  # either these
    decay_epochs: float | None = None  # or these, which become steps
    staircase: bool = True
    warmup_steps: int | None = 0
    warmup_from: float | None = None
    burn_in_steps: int = 0
    burn_in_rate: float | None = None  # None: peak
    floor: float = 0.0
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmup(self)
        require(0 < self.decay_factor <= 1, "decay_factor", self.decay_factor, "above 0, at most 1")
        given = self.decay_steps is not None or self.decay_epochs is not None
        require(given, "decay_steps", self.decay_steps, "given, or else decay_epochs")
        require(self.decay_steps is None or self.decay_steps >= 1, "decay_steps", self.decay_steps, "1 or more")
        require(self.decay_epochs is None or self.decay_epochs > 0, "decay_epochs", self.decay_epochs, "above 0")
        require(self.burn_in_steps >= 0, "burn_in_steps", self.burn_in_steps, "0 or more")
        one_start = not (self.burn_in_steps and self.warmup_steps)
        require(one_start, "burn_in_steps", self.burn_in_steps, f"0 when warmup_steps is {self.warmup_steps}")
        positive = self.burn_in_rate is None or self.burn_in_rate > 0
        require(positive, "burn_in_rate", self.burn_in_rate, "above 0, or null for peak")
        require(0 <= self.floor <= self.peak, "floor", self.floor, f"between 0 and peak={self.peak:g}")

    def __call__(self, step: int) -> float:
        assert self.decay_steps is not None, "over(...) comes first"
        warmup = warmup_of(self)
        if step < warmup:
            return rise(self, step)
        if step < self.burn_in_steps:
            return max(self.floor, self.peak if self.burn_in_rate is None else self.burn_in_rate)
        power = (step - warmup - self.burn_in_steps) / self.decay_steps
        return max(self.floor, self.peak * self.decay_factor ** (math.floor(power) if self.staircase else power))

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        warmed = fill_warmup(self, steps)
        require_shorter("burn_in_steps", self.burn_in_steps, steps)
        if self.decay_epochs is None:
            return warmed
        require(self.decay_steps is None, "decay_steps", self.decay_steps, "null when decay_epochs is given")
        return replace(warmed, decay_steps=max(1, math.floor(self.decay_epochs * steps_per_epoch)))

    def turns(self) -> list[Turn]:
        return turns_at(warmup_of(self) + self.burn_in_steps, "decay")
