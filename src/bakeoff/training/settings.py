"""How long, how much at once, how often to look: `conf/train/`."""

import math
from dataclasses import dataclass, field

from bakeoff.errors import require
from bakeoff.input.augment import Augment


@dataclass(frozen=True)
class Train:
    batch_size: int
    steps: int | None = None  # either these
    epochs: float | None = None  # or these
    log_every_steps: int = 10
    validate_every_steps: int = 0  # 0: only at the end
    deterministic: bool = True  # the same variant gives the same weights, to the bit
    augment: Augment = field(default_factory=Augment)

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        both = (self.steps is None) == (self.epochs is None)
        require(
            not both, "steps", self.steps, f"given, or else epochs, not both and not neither (epochs is {self.epochs})"
        )
        require(self.steps is None or self.steps >= 1, "steps", self.steps, "1 or more")
        require(self.epochs is None or self.epochs > 0, "epochs", self.epochs, "above 0")
        require(self.log_every_steps >= 1, "log_every_steps", self.log_every_steps, "1 or more")
        require(self.validate_every_steps >= 0, "validate_every_steps", self.validate_every_steps, "0 or more")

    def steps_for(self, examples: int) -> int:
        """Steps are what the loop counts; epochs are turned into them here and nowhere else."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return math.ceil(round(self.epochs * examples / self.batch_size, 6))  # 1.1 * 50 is 55, not a little more
