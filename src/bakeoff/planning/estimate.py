"""What a variant will take, as far as one knows: time, memory, disk; and of several variants together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.input.memory import FLOAT_BYTES
from bakeoff.planning.ahead import RUNS
from bakeoff.planning.pace import known_pace, seconds_of
from bakeoff.training.settings import Train
from bakeoff.training.variant import Variant

TRAIN = "train"
CHECKPOINTS = 3  # two stay while the next is written
OPTIMIZER_NUMBERS = 2  # of each weight, at most


@dataclass(frozen=True)
class OnDisk:
    """Bytes that a training writes, at most."""

    in_flight: int  # checkpoints and best weights of each phase
    outputs: int  # final and best weights; trackers and DVC's cache take as much again

    @classmethod
    def of(cls, train: Train, parameters: int) -> "OnDisk":
        weights = parameters * FLOAT_BYTES
        averaged = train.ema_decay > 0
        checkpoint = weights * (1 + OPTIMIZER_NUMBERS + averaged)
        phases = max(1, len(train.phases))
        # Of each phase its last checkpoint and its best weights stay; of one phase there are two bests for a moment.
        return cls((CHECKPOINTS + phases - 1) * checkpoint + (phases + 1) * weights, 2 * weights)

    def total(self) -> int:
        return self.in_flight + self.outputs


@dataclass(frozen=True)
class Estimate:
    seconds: float | None  # of training; None where nothing like it was trained here
    memory_bytes: int
    disk_bytes: int

    @classmethod
    def of(cls, run: Variant, stages: Mapping[str, str]) -> "Estimate":
        """Return what the stages that run will take; what DVC has already takes nothing."""
        if stages.get(TRAIN) != RUNS:
            return cls(0.0, 0, 0)
        derived, seconds = run.derived, seconds_of(run, known_pace(run))
        return cls(seconds, derived.memory_estimate_bytes, OnDisk.of(run.train, derived.parameters).total())


@dataclass(frozen=True)
class Together:
    seconds: float  # of those whose time is known, shared out
    unknown: int
    memory_bytes: int  # at most, at a time
    disk_bytes: int


def together(estimates: Sequence[Estimate], side_by_side: int) -> Together:
    """Add up so many at a time; each as fast as by itself, which several on one machine are not."""
    known = [estimate.seconds for estimate in estimates if estimate.seconds is not None]
    largest = sorted((estimate.memory_bytes for estimate in estimates), reverse=True)[:side_by_side]
    disk = sum(estimate.disk_bytes for estimate in estimates)
    return Together(sum(known) / max(1, side_by_side), len(estimates) - len(known), sum(largest), disk)
