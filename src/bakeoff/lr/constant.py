from dataclasses import dataclass
from typing import Self

from bakeoff.lr.schedule import Turn, require_shorter, require_warmed, risen, turn


@dataclass(frozen=True)
class Constant:
    """`peak` after a linear rise over `warmup_steps`."""

    peak: float
    warmup_steps: int = 0
    warmup_from: float | None = None  # None: peak / (warmup_steps + 1), as if it had been 0 one step before the first
    scale_with_batch: int | None = None

    def __post_init__(self) -> None:
        require_warmed(self)

    def __call__(self, step: int) -> float:
        return risen(self, step)

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        require_shorter("warmup_steps", self.warmup_steps, steps)
        return self

    def turns(self) -> list[Turn]:
        return turn(self.warmup_steps, "peak")
