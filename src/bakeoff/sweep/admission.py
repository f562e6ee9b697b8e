"""What a launch asks before it begins a job: which comes next, whether there is room, on which cores and GPUs."""

import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence

from bakeoff import machine
from bakeoff.sweep.manifest import Manifest, SweepJob

SECONDS_BETWEEN_COUNTS = 5.0


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

    def __init__(
        self, side_by_side: int, memory_bytes: int, cores: Sequence[int] = (), gpus: Sequence[str] = ()
    ) -> None:
        """`memory_bytes` that the jobs may take together; no `cores` where a process cannot be bound to some; `gpus` by
        the names that CUDA_VISIBLE_DEVICES has for them."""
        self._gpus, self._gpus_of = tuple(gpus), dict[str, tuple[str, ...]]()
        self._side_by_side, self._memory_bytes, self._cores = side_by_side, memory_bytes, tuple(cores)
        self._jobs: dict[str, SweepJob] = {}  # by experiment
        self._numbers: dict[str, int] = {}

    @classmethod
    def here(cls, side_by_side: int) -> "Seats":
        """What other programs hold now is theirs."""
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()
        return cls(side_by_side, machine.available_memory(), cores, [gpu.uuid for gpu in machine.list_gpus()])

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
        has_gpus = len(self._free_gpus()) >= self._wanted_gpus(job)
        return self.free > 0 and together <= self._memory_bytes and has_gpus and not alike

    def take(self, job: SweepJob) -> tuple[int, ...]:
        """Return the cores that are its own as long as it runs; with more jobs than cores, some share one."""
        self._jobs[job.experiment] = job
        self._gpus_of[job.experiment] = self._free_gpus()[: self._wanted_gpus(job)]
        number = next(number for number in itertools.count() if number not in self._numbers.values())
        self._numbers[job.experiment] = number
        if self._side_by_side == 1 or not self._cores:
            return self._cores
        each = max(1, len(self._cores) // self._side_by_side)
        first = number * each % (len(self._cores) // each * each)
        return self._cores[first : first + each]

    def gpus_of(self, job: SweepJob) -> tuple[str, ...] | None:
        """Return the GPUs that are a job's own as long as it runs; None on a machine without any."""
        return self._gpus_of.get(job.experiment, ()) if self._gpus else None

    def keep(self, job: SweepJob, gpus: Sequence[str] = ()) -> None:
        """One that ran before we came, on cores of its own and maybe on `gpus`."""
        self._jobs[job.experiment] = job
        self._gpus_of[job.experiment] = tuple(gpus)

    def leave(self, job: SweepJob) -> None:
        self._jobs.pop(job.experiment, None)
        self._numbers.pop(job.experiment, None)
        self._gpus_of.pop(job.experiment, None)

    def _wanted_gpus(self, job: SweepJob) -> int:
        """Count the GPUs that a job computes on. More than there are, training refuses in its own words."""
        if job.devices == "cpu":
            return 0
        return min(job.devices, len(self._gpus)) if isinstance(job.devices, int) else len(self._gpus)

    def _free_gpus(self) -> tuple[str, ...]:
        taken = {gpu for gpus in self._gpus_of.values() for gpu in gpus}
        return tuple(gpu for gpu in self._gpus if gpu not in taken)


class CountedSeats(Seats):
    """Seats of a cluster, which keeps the room itself: as many as its nodes can run now, for nodes come and go."""

    def __init__(self, count: Callable[[], int]) -> None:
        super().__init__(max(1, count()), sys.maxsize)
        self._count, self._counted = count, time.monotonic()

    @property
    def free(self) -> int:
        if time.monotonic() - self._counted >= SECONDS_BETWEEN_COUNTS:
            self._side_by_side, self._counted = max(1, self._count()), time.monotonic()
        return super().free
