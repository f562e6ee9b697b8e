"""The next job of a launch: where it comes from, whether there is room for it, and on which cores and GPUs it runs."""

import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence

from bakeoff.experiments.sweep.sweep_manifest import SweepJob, SweepManifest
from bakeoff.foundation import machine

SECONDS_BETWEEN_COUNTS = 5.0


class JobSource:
    """Where jobs come from. Here all of them are in the manifest before the first starts; a search draws them."""

    def more(self, manifest: SweepManifest, seats: int) -> Sequence[SweepJob]:
        """Return jobs that wait from now on, with the numbers that come next. There is room for `seats` of them."""
        return ()

    def is_dry(self, manifest: SweepManifest) -> bool:
        """Return whether no more jobs will come."""
        return True

    def gives_up(self, manifest: SweepManifest, job: SweepJob) -> str | None:
        """Return why a running job is to be given up, or None if it may continue."""
        return None

    def complete(self, job: SweepJob) -> SweepJob:
        """Return a job that is over, with further facts about it."""
        return job


class Seats:
    """The jobs that run now, of all sweeps that are launched together, and the room for others beside them."""

    def __init__(
        self, side_by_side: int, memory_bytes: int, cores: Sequence[int] = (), gpus: Sequence[str] = ()
    ) -> None:
        """The jobs may take `memory_bytes` together. `cores` are empty where a process cannot be bound to some. `gpus`
        are the names that CUDA_VISIBLE_DEVICES has for them."""
        self._gpus, self._gpus_of = tuple(gpus), dict[str, tuple[str, ...]]()
        self._side_by_side, self._memory_bytes, self._cores = side_by_side, memory_bytes, tuple(cores)
        self._jobs: dict[str, SweepJob] = {}  # by experiment
        self._numbers: dict[str, int] = {}

    @classmethod
    def here(cls, side_by_side: int) -> "Seats":
        """Return the seats of this machine. Memory that other programs hold now remains theirs."""
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()
        return cls(side_by_side, machine.available_memory(), cores, [gpu.uuid for gpu in machine.list_gpus()])

    @property
    def are_several(self) -> bool:
        return self._side_by_side > 1

    @property
    def free(self) -> int:
        return max(0, self._side_by_side - len(self._jobs))

    def admits(self, job: SweepJob) -> bool:
        """Return whether a job may start now. A job alone always may, because training itself refuses without room."""
        running = self._jobs.values()
        if not running:
            return True
        together = job.memory_bytes + sum(other.memory_bytes for other in running)
        alike = any(other.training == job.training for other in running)  # the second takes it from DVC's cache
        has_gpus = len(self._free_gpus()) >= self._wanted_gpus(job)
        return self.free > 0 and together <= self._memory_bytes and has_gpus and not alike

    def take(self, job: SweepJob) -> tuple[int, ...]:
        """Give a job a seat, and return the cores that it has as long as it runs.

        With more jobs than cores, some jobs share one.
        """
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
        """Return the GPUs that a job has as long as it runs, or None on a machine without any."""
        return self._gpus_of.get(job.experiment, ()) if self._gpus else None

    def keep(self, job: SweepJob, gpus: Sequence[str] = ()) -> None:
        """Give a seat to a job that already runs, on cores of its own and maybe on `gpus`."""
        self._jobs[job.experiment] = job
        self._gpus_of[job.experiment] = tuple(gpus)

    def leave(self, job: SweepJob) -> None:
        self._jobs.pop(job.experiment, None)
        self._numbers.pop(job.experiment, None)
        self._gpus_of.pop(job.experiment, None)

    def _wanted_gpus(self, job: SweepJob) -> int:
        """Return the number of GPUs that a job computes on. Training itself refuses more than there are."""
        if job.devices == "cpu":
            return 0
        return min(job.devices, len(self._gpus)) if isinstance(job.devices, int) else len(self._gpus)

    def _free_gpus(self) -> tuple[str, ...]:
        taken = {gpu for gpus in self._gpus_of.values() for gpu in gpus}
        return tuple(gpu for gpu in self._gpus if gpu not in taken)


class CountedSeats(Seats):
    """Seats of a cluster that gives out room itself: as many as its nodes can run now, because nodes come and go."""

    def __init__(self, count: Callable[[], int]) -> None:
        super().__init__(max(1, count()), sys.maxsize)
        self._count, self._counted = count, time.monotonic()

    @property
    def free(self) -> int:
        if time.monotonic() - self._counted >= SECONDS_BETWEEN_COUNTS:
            self._side_by_side, self._counted = max(1, self._count()), time.monotonic()
        return super().free
