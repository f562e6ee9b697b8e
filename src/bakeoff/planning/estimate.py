"""What a variant will take, as far as one knows: time, memory, disk; and of several variants together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.planning.ahead import RUNS
from bakeoff.planning.make import known_pace
from bakeoff.planning.on_disk import OnDisk
from bakeoff.run.settings import Run
from bakeoff.training.variant import Derived

TRAIN = "train"


@dataclass(frozen=True)
class Estimate:
    seconds: float | None  # of training; None where nothing like it was trained here
    memory_bytes: int
    disk_bytes: int

    @classmethod
    def of(cls, run: Run, derived: Derived, stages: Mapping[str, str]) -> "Estimate":
        """What DVC has already takes nothing."""
        if stages.get(TRAIN) != RUNS:
            return cls(0.0, 0, 0)
        disk, pace = OnDisk.of(run.train, derived.parameters), known_pace(run, derived)
        seconds = None
        if pace is not None:
            seconds = sum(pace.seconds_per_step[span.name] * span.steps for span in derived.phases)
        return cls(seconds, derived.memory_estimate_bytes, disk.in_flight + disk.outputs)


@dataclass(frozen=True)
class Together:
    seconds: float  # of those whose time is known, shared out
    unknown: int
    memory_bytes: int  # at most, at a time
    disk_bytes: int


def together(estimates: Sequence[Estimate], side_by_side: int) -> Together:
    """So many at a time; each as fast as by itself, which several on one machine are not."""
    known = [estimate.seconds for estimate in estimates if estimate.seconds is not None]
    largest = sorted((estimate.memory_bytes for estimate in estimates), reverse=True)[:side_by_side]
    disk = sum(estimate.disk_bytes for estimate in estimates)
    return Together(sum(known) / max(1, side_by_side), len(estimates) - len(known), sum(largest), disk)
