import math
from dataclasses import dataclass
from typing import Self

from bakeoff.errors import require
from bakeoff.lr.schedule import Turn, of_length, require_shorter, require_warmed, risen, turn


@dataclass(frozen=True)
class Cosine:
    """Linear rise over `warmup_steps`, `hold_steps` at the peak, then half a cosine down to zero at `total_steps`."""

    peak: float
    warmup_steps: int = 0
    warmup_from: float | None = None
    hold_steps: int = 0
    total_steps: int | None = None  # None: as many as the run has
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmed(self)
        require(self.hold_steps >= 0, "hold_steps", self.hold_steps, "0 or more")
        if self.total_steps is not None:
            start = self.warmup_steps + self.hold_steps
            require(self.total_steps > start, "total_steps", self.total_steps, f"above warm-up and hold, {start}")

    def __call__(self, step: int) -> float:
        assert self.total_steps is not None, "over(...) comes first"
        start = self.warmup_steps + self.hold_steps
        if step < start:
            return risen(self, step)
        done = min(1.0, (step - start) / (self.total_steps - start))
        return 0.5 * self.peak * (1 + math.cos(math.pi * done))

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        require_shorter("warmup_steps", self.warmup_steps, steps)
        return of_length(self, steps)

    def turns(self) -> list[Turn]:
        assert self.total_steps is not None
        start = self.warmup_steps + self.hold_steps
        held = turn(self.warmup_steps, "hold") if self.hold_steps else []
        return [*held, *turn(start, "cosine"), (self.total_steps, "zero")]
