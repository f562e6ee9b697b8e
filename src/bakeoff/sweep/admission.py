"""What a launch asks before it begins a job: which comes next, whether there is room for it, and on which cores."""

import itertools
import os
from collections.abc import Sequence

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


class Seats:
    """Who runs now, of all sweeps that are launched together, and who may begin beside them."""

    def __init__(self, side_by_side: int, memory_bytes: int, cores: Sequence[int] = ()) -> None:
        """`memory_bytes` that the jobs may take together; no `cores` where a process cannot be bound to some."""
        self._side_by_side, self._memory_bytes, self._cores = side_by_side, memory_bytes, tuple(cores)
        self._jobs: dict[str, SweepJob] = {}  # by experiment
        self._numbers: dict[str, int] = {}

    @classmethod
    def here(cls, side_by_side: int) -> "Seats":
        """What other programs hold now is theirs."""
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()
        return cls(side_by_side, machine.available_memory(), cores)

    @property
    def are_several(self) -> bool:
        return self._side_by_side > 1

    @property
    def free(self) -> int:
        return max(0, self._side_by_side - len(self._jobs))

    def admits(self, job: SweepJob) -> bool:
        """One by itself always: training asks whether there is room for it, and refuses in its own words."""
        running = self._jobs.values()
        if not running:
            return True
        together = job.memory_bytes + sum(other.memory_bytes for other in running)
        alike = any(other.training == job.training for other in running)  # the second takes it from DVC's cache
        return self.free > 0 and together <= self._memory_bytes and not alike

    def take(self, job: SweepJob) -> tuple[int, ...]:
        """Return the cores that are its own as long as it runs; with more jobs than cores, some share one."""
        self._jobs[job.experiment] = job
        number = next(number for number in itertools.count() if number not in self._numbers.values())
        self._numbers[job.experiment] = number
        if self._side_by_side == 1 or not self._cores:
            return self._cores
        each = max(1, len(self._cores) // self._side_by_side)
        first = number * each % (len(self._cores) // each * each)
        return self._cores[first : first + each]

    def keep(self, job: SweepJob) -> None:
        """One that ran before we came, on cores of its own."""
        self._jobs[job.experiment] = job

    def leave(self, job: SweepJob) -> None:
        self._jobs.pop(job.experiment, None)
        self._numbers.pop(job.experiment, None)
