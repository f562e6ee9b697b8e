"""Schedules in pieces that bring their own rise: rates and steps by hand, and one cycle up and down."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from bakeoff.foundation.errors import OutOfRange, require
from bakeoff.learning.lr.schedule import MOST_RATE, MOST_STEPS, Turn, fill_length, require_batch, require_total

MOST_BOUNDARIES = 1000


@dataclass(frozen=True)
class Manual:
    """`rates[0]` until `boundaries[0]`, then `rates[1]` until `boundaries[1]`, and so on.

    With `warmup` the first rate is only where a line starts that reaches the second at the first boundary.
    """

    boundaries: tuple[int, ...]
    rates: tuple[float, ...]
    warmup: bool = False
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_batch(self)
        number = len(self.boundaries)
        require(number <= MOST_BOUNDARIES, "boundaries", number, f"at most {MOST_BOUNDARIES:,} steps")
        rising = all(low < high for low, high in pairwise((0, *self.boundaries)))
        require(rising, "boundaries", list(self.boundaries), "steps above 0, each above the one before")
        number = len(self.boundaries) + 1
        require(len(self.rates) == number, "rates", list(self.rates), f"{number} rates, one more than boundaries")
        require(all(rate >= 0 for rate in self.rates), "rates", list(self.rates), "0 or more each")
        require(max(self.rates) <= MOST_RATE, "rates", list(self.rates), f"at most {MOST_RATE:,} each")
        last = max(self.boundaries, default=0)
        require(last <= MOST_STEPS, "boundaries", list(self.boundaries), f"at most {MOST_STEPS:,} each")
        require(not self.warmup or bool(self.boundaries), "warmup", self.warmup, "false without boundaries")

    def __call__(self, step: int) -> float:
        if self.warmup and step < self.boundaries[0]:
            return self.rates[0] + (self.rates[1] - self.rates[0]) * step / self.boundaries[0]
        return self.rates[sum(boundary <= step for boundary in self.boundaries)]

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        if self.warmup and self.boundaries[0] >= steps:
            raise OutOfRange("boundaries", list(self.boundaries), f"under the run's {steps} steps where warm-up ends")
        return self

    def turns(self) -> list[Turn]:
        return [(step, f"{rate:g}") for step, rate in zip(self.boundaries, self.rates[1:], strict=True)]


@dataclass(frozen=True)
class OneCycle:
    """Half a cosine up from `peak / start_divisor`, half a cosine down to that / `end_divisor` (arXiv:1708.07120)."""

    peak: float
    rise_share: float = 0.3  # of the steps
    start_divisor: float = 25.0
    end_divisor: float = 10000.0
    total_steps: int | None = None
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_batch(self)
        require(self.peak > 0, "peak", self.peak, "above 0")
        require(0 < self.rise_share < 1, "rise_share", self.rise_share, "above 0 and under 1")
        for key in ("start_divisor", "end_divisor"):
            require(getattr(self, key) >= 1, key, getattr(self, key), "1 or more")
        require_total(self.total_steps, 2)

    def __call__(self, step: int) -> float:
        assert self.total_steps is not None, "over(...) comes first"
        start, last, top = self.peak / self.start_divisor, self.total_steps - 1, self._top(self.total_steps)
        if step < top:
            return start + (self.peak - start) * _half_cosine(step / top)
        end = start / self.end_divisor
        return self.peak + (end - self.peak) * _half_cosine(min(1.0, (step - top) / (last - top)))

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        return fill_length(self, steps)

    def turns(self) -> list[Turn]:
        assert self.total_steps is not None
        return [(math.ceil(self._top(self.total_steps)), "fall"), (self.total_steps - 1, "end")]

    def _top(self, total_steps: int) -> float:
        """The step, not always a whole one, at which the peak is reached."""
        return max(0.0, self.rise_share * total_steps - 1)


def _half_cosine(done: float) -> float:
    return 0.5 * (1 - math.cos(math.pi * done))
