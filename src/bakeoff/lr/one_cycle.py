import math
from dataclasses import dataclass
from typing import Self

from bakeoff.errors import require
from bakeoff.lr.schedule import Turn, of_length, require_scaled, require_total


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
        require_scaled(self)
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
        return of_length(self, steps)

    def turns(self) -> list[Turn]:
        assert self.total_steps is not None
        return [(math.ceil(self._top(self.total_steps)), "fall"), (self.total_steps - 1, "end")]

    def _top(self, total_steps: int) -> float:
        """The step, not always a whole one, at which the peak is reached."""
        return max(0.0, self.rise_share * total_steps - 1)


def _half_cosine(done: float) -> float:
    return 0.5 * (1 - math.cos(math.pi * done))
