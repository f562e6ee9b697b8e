"""What a launch asks before it begins a job: which comes next, whether there is room for it, and on which cores."""

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff import machine
from bakeoff.sweep.manifest import Manifest, SweepJob


class Source:
    """Where jobs come from: here all stand in the manifest before the first begins; a search draws them."""

    def more(self, manifest: Manifest, seats: int) -> Sequence[SweepJob]:
        """Return jobs that shall wait from now on, with the numbers that come next; there is room for `seats`."""
        return ()

    def is_dry(self, manifest: Manifest) -> bool:
        """Whether none will come any more."""
        return True

    def gives_up(self, manifest: Manifest, job: SweepJob) -> str | None:
        """Why a job that runs is not worth its end; None if it may go on."""
        return None

    def complete(self, job: SweepJob) -> SweepJob:
        """Return a job that is over with what is known of it besides."""
        return job


@dataclass(frozen=True)
class Admission:
    side_by_side: int
    memory_bytes: int  # that the jobs may take together
    cores: tuple[int, ...] = ()  # their numbers; none where a process cannot be bound to some

    @classmethod
    def here(cls, side_by_side: int) -> "Admission":
        """What other programs hold now is theirs."""
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()
        return cls(side_by_side, machine.available_memory(), tuple(cores))

    def admits(self, job: SweepJob, running: Sequence[SweepJob]) -> bool:
        """One by itself always: training asks whether there is room for it, and refuses in its own words."""
        if not running:
            return True
        together = job.memory_bytes + sum(other.memory_bytes for other in running)
        alike = any(other.training == job.training for other in running)  # the second takes it from DVC's cache
        return len(running) < self.side_by_side and together <= self.memory_bytes and not alike

    def share(self, seat: int) -> tuple[int, ...]:
        """Return the cores of one of those side by side, from 0; with more of them than cores, some share one."""
        if self.side_by_side == 1 or not self.cores:
            return self.cores
        each = max(1, len(self.cores) // self.side_by_side)
        first = seat * each % (len(self.cores) // each * each)
        return self.cores[first : first + each]


class Seats:
    """Who runs now, of all sweeps that are launched together."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._jobs: dict[str, SweepJob] = {}  # by experiment
        self._numbers: dict[str, int] = {}

    @property
    def are_several(self) -> bool:
        return self._admission.side_by_side > 1

    @property
    def free(self) -> int:
        return max(0, self._admission.side_by_side - len(self._jobs))

    def admits(self, job: SweepJob) -> bool:
        return self._admission.admits(job, list(self._jobs.values()))

    def take(self, job: SweepJob) -> tuple[int, ...]:
        """Return the cores that are its own as long as it runs."""
        self._jobs[job.experiment] = job
        number = next(number for number in itertools.count() if number not in self._numbers.values())
        self._numbers[job.experiment] = number
        return self._admission.share(number)

    def keep(self, job: SweepJob) -> None:
        """One that ran before we came, on cores of its own."""
        self._jobs[job.experiment] = job

    def leave(self, job: SweepJob) -> None:
        self._jobs.pop(job.experiment, None)
        self._numbers.pop(job.experiment, None)
