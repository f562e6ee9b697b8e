"""Step -> learning rate. Steps count from 0; every schedule is a frozen dataclass that is the schedule.

`over(steps)` fills in what depends on the length of the run, so that run.yaml says it.
"""

import math
from dataclasses import dataclass, replace
from typing import Protocol

from bakeoff.errors import require


class Schedule(Protocol):
    def __call__(self, step: int) -> float: ...

    def over(self, steps: int) -> "Schedule": ...


@dataclass(frozen=True)
class Constant:
    """`peak` after a linear rise over `warmup_steps`."""

    peak: float
    warmup_steps: int = 0

    def __post_init__(self) -> None:
        _require_start(self)

    def __call__(self, step: int) -> float:
        return self.peak * _rise(step, self.warmup_steps)

    def over(self, steps: int) -> "Constant":
        return self


@dataclass(frozen=True)
class Cosine:
    """Linear rise over `warmup_steps`, `hold_steps` at the peak, then half a cosine down to zero at `total_steps`."""

    peak: float
    warmup_steps: int = 0
    hold_steps: int = 0
    total_steps: int | None = None  # None: as many as the run has

    def __post_init__(self) -> None:
        _require_start(self)
        require(self.hold_steps >= 0, "hold_steps", self.hold_steps, "0 or more")
        if self.total_steps is not None:
            start = self.warmup_steps + self.hold_steps
            require(self.total_steps > start, "total_steps", self.total_steps, f"above warm-up and hold, {start}")

    def __call__(self, step: int) -> float:
        assert self.total_steps is not None, "over(steps) comes first"
        start = self.warmup_steps + self.hold_steps
        if step < start:
            return self.peak * _rise(step, self.warmup_steps)
        done = min(1.0, (step - start) / (self.total_steps - start))
        return 0.5 * self.peak * (1 + math.cos(math.pi * done))

    def over(self, steps: int) -> "Cosine":
        return replace(self, total_steps=steps) if self.total_steps is None else self


@dataclass(frozen=True)
class Exponential:
    """`peak` x `decay_factor` ^ (steps / `decay_steps`), in stairs or smoothly; after warm-up never under `floor`."""

    peak: float
    decay_factor: float
    decay_steps: int
    staircase: bool = True
    warmup_steps: int = 0
    floor: float = 0.0

    def __post_init__(self) -> None:
        _require_start(self)
        require(0 < self.decay_factor <= 1, "decay_factor", self.decay_factor, "above 0, at most 1")
        require(self.decay_steps >= 1, "decay_steps", self.decay_steps, "1 or more")
        require(0 <= self.floor <= self.peak, "floor", self.floor, f"between 0 and peak={self.peak:g}")

    def __call__(self, step: int) -> float:
        if step < self.warmup_steps:
            return self.peak * _rise(step, self.warmup_steps)
        power = (step - self.warmup_steps) / self.decay_steps
        return max(self.floor, self.peak * self.decay_factor ** (math.floor(power) if self.staircase else power))

    def over(self, steps: int) -> "Exponential":
        return self


SCHEDULES: dict[str, type[Schedule]] = {"constant": Constant, "cosine": Cosine, "exponential": Exponential}


def _require_start(schedule: Constant | Cosine | Exponential) -> None:
    require(schedule.peak > 0, "peak", schedule.peak, "above 0")
    require(schedule.warmup_steps >= 0, "warmup_steps", schedule.warmup_steps, "0 or more")


def _rise(step: int, warmup_steps: int) -> float:
    """1 from `warmup_steps` on; before, a line that would have been 0 one step before the first."""
    return min(1.0, (step + 1) / (warmup_steps + 1))
