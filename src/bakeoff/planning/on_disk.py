"""What a training writes, foreseen."""

from dataclasses import dataclass

from bakeoff.input.memory import FLOAT_BYTES
from bakeoff.training.settings import Train

CHECKPOINTS = 3  # two stay while the next is written
OPTIMIZER_NUMBERS = 2  # of each weight, at most


@dataclass(frozen=True)
class OnDisk:
    """Bytes that a training writes, at most."""

    in_flight: int  # checkpoints and best weights of each leg
    outputs: int  # final and best weights; trackers and DVC's cache take as much again

    @classmethod
    def of(cls, train: Train, parameters: int) -> "OnDisk":
        weights = parameters * FLOAT_BYTES
        averaged = train.ema_decay > 0
        checkpoint = weights * (1 + OPTIMIZER_NUMBERS + averaged)
        bests = max(1, len(train.phases)) + 1  # in one leg two for a moment
        return cls(CHECKPOINTS * checkpoint + bests * weights, 2 * weights)
