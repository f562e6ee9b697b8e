"""What a variant will take, as far as one knows: time, memory, disk; and of several variants together."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.config.compose.memory_plan import FLOAT_BYTES
from bakeoff.config.compose.whole_run import Run
from bakeoff.experiments.planning.stage_status import RUNS
from bakeoff.experiments.planning.time_estimate import TRAIN, Whole, known_pace
from bakeoff.foundation import machine
from bakeoff.foundation.timings import JOB
from bakeoff.learning.plan.train_settings import Train

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
        # Of each phase its last checkpoint and its best weights stay, these in two files; of one phase there are two
        # bests for a moment.
        return cls((CHECKPOINTS + phases - 1) * checkpoint + 2 * (phases + 1) * weights, 2 * weights)

    def total(self) -> int:
        return self.in_flight + self.outputs


@dataclass(frozen=True)
class Estimate:
    seconds: float | None  # of the whole job; None if no similar training was measured here
    memory_bytes: int
    disk_bytes: int
    training: str = ""  # jobs with the same text never run at the same time
    at_least: float = 0.0  # seconds of everything but the steps, where their pace is not known
    known_from: str = ""  # what the seconds are known from

    @classmethod
    def of(cls, run: Run, stages: Mapping[str, str], *, cores: int | None = None) -> "Estimate":
        """Return what a job takes whose stages are to do this, by so many cores; what DVC has takes nothing."""
        whole = Whole.of(run, stages, known_pace(run, cores), by=JOB, cores=cores)
        if stages.get(TRAIN) != RUNS:
            return cls(whole.seconds, 0, 0, at_least=whole.at_least, known_from=whole.known_from)
        derived = run.derived
        disk = OnDisk.of(run.train, derived.parameters).total()
        return cls(
            whole.seconds, derived.memory_estimate_bytes, disk, at_least=whole.at_least, known_from=whole.known_from
        )


def cores_of_each(side_by_side: int) -> int | None:
    """Return how many cores each of so many jobs is bound to; None: all that there are."""
    return max(1, machine.cores() // side_by_side) if side_by_side > 1 else None


@dataclass(frozen=True)
class Together:
    seconds: float  # from the first's begin to the last's end; without steps whose pace is not known
    unknown: int  # how many have such steps
    memory_bytes: int  # at most, at a time
    disk_bytes: int


def together(estimates: Sequence[Estimate], side_by_side: int, memory_bytes: float = math.inf) -> Together:
    """Let each begin as a sweep does: in its order, as soon as there is a seat and memory for it."""
    unknown = sum(estimate.seconds is None for estimate in estimates)
    largest = sorted((estimate.memory_bytes for estimate in estimates), reverse=True)[:side_by_side]
    disk = sum(estimate.disk_bytes for estimate in estimates)
    return Together(_elapsed(estimates, side_by_side, memory_bytes), unknown, sum(largest), disk)


def _elapsed(estimates: Sequence[Estimate], side_by_side: int, memory_bytes: float) -> float:
    now, waiting, running = 0.0, deque(estimates), list[tuple[float, Estimate]]()  # with the time of its end
    while waiting or running:
        for one in list(waiting) if len(running) < side_by_side else ():
            if len(running) < side_by_side and _may_begin(one, [other for _, other in running], memory_bytes):
                waiting.remove(one)
                running.append((now + (one.at_least if one.seconds is None else one.seconds), one))
        now = min(end for end, _ in running)
        running = [(end, one) for end, one in running if end > now]
    return now


def _may_begin(one: Estimate, others: Sequence[Estimate], memory_bytes: float) -> bool:
    """Say what `sweep.admission.Seats` will."""
    if not others:
        return True
    is_alike = one.training != "" and any(other.training == one.training for other in others)
    return not is_alike and one.memory_bytes + sum(other.memory_bytes for other in others) <= memory_bytes
