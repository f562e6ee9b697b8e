from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from bakeoff.errors import OutOfRange, require
from bakeoff.lr.schedule import Turn, require_scaled


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
        require_scaled(self)
        rising = all(low < high for low, high in pairwise((0, *self.boundaries)))
        require(rising, "boundaries", list(self.boundaries), "steps above 0, each above the one before")
        number = len(self.boundaries) + 1
        require(len(self.rates) == number, "rates", list(self.rates), f"{number} rates, one more than boundaries")
        require(all(rate >= 0 for rate in self.rates), "rates", list(self.rates), "0 or more each")
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
