from dataclasses import dataclass
from typing import Self

from bakeoff.errors import require
from bakeoff.lr.schedule import Turn, of_length, require_shorter, require_total, require_warmed, risen, turn


@dataclass(frozen=True)
class Polynomial:
    """From `peak` after the warm-up to `end_rate` at `total_steps`, along (1 - done) ^ `power`."""

    peak: float
    end_rate: float = 0.0
    power: float = 1.0
    warmup_steps: int = 0
    warmup_from: float | None = None
    total_steps: int | None = None
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmed(self)
        require(0 <= self.end_rate <= self.peak, "end_rate", self.end_rate, f"between 0 and peak={self.peak:g}")
        require(self.power > 0, "power", self.power, "above 0")
        require_total(self.total_steps, self.warmup_steps + 1)

    def __call__(self, step: int) -> float:
        assert self.total_steps is not None, "over(...) comes first"
        if step < self.warmup_steps:
            return risen(self, step)
        done = min(1.0, (step - self.warmup_steps) / (self.total_steps - self.warmup_steps))
        return self.end_rate + (self.peak - self.end_rate) * (1 - done) ** self.power

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        require_shorter("warmup_steps", self.warmup_steps, steps)
        return of_length(self, steps)

    def turns(self) -> list[Turn]:
        assert self.total_steps is not None
        return [*turn(self.warmup_steps, "fall"), (self.total_steps, "end")]
