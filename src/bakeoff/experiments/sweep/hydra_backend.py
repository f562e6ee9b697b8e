"""A launcher of Hydra's as a backend: it gets all jobs that wait, and decides how many of them run at once.

Hydra composes the configuration of each job, with an entry that names the sweep and the job.
"""

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from threading import Thread
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher

from bakeoff.experiments.sweep import scheduled_job
from bakeoff.experiments.sweep.backend import LOCAL, Backend, JobProcess
from bakeoff.experiments.sweep.hydra_config import SWEEP
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_process import TAKEN_AWAY
from bakeoff.experiments.sweep.params_diff import format_value
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.scheduled_job import ScheduledJob
from bakeoff.experiments.sweep.sweep_manifest import SweepJob
from bakeoff.foundation.errors import one_line


def run_one(config: Any) -> None:
    """Run the job that a configuration of Hydra's names."""
    entry = config[SWEEP]
    scheduled_job.run_job(JobFiles(Path(entry.folder), int(entry.job)), Path(entry.cache))


class HydraBackend(Backend):
    """A launcher of Hydra's, which works on one batch of jobs after the other."""

    name, starts_later = LOCAL, True

    def __init__(self, launcher: Launcher, fixed: Sequence[str]) -> None:
        """`fixed` are the overrides that all configurations have in common."""
        self._launcher, self._fixed = launcher, fixed
        self._next: dict[int, list[str]] = {}  # the overrides of jobs for the next batch, by number
        self._batch: dict[int, list[str]] = {}  # those of the last batch
        self._thread: Thread | None = None
        self._failures: dict[int, str] = {}  # by number: why a job was not started

    def seats(self, side_by_side: int | None) -> Seats:
        return Seats(sys.maxsize, sys.maxsize)

    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        """Keep a job for the next batch, unless the launcher itself starts it again."""
        files.forget_outcome()
        seats.take(job)
        if job.why != TAKEN_AWAY or job.number not in self._batch:
            entry = {"folder": str(files.folder.resolve()), "job": job.number, "cache": str(cache.resolve())}
            own = job.configurations[0]
            fixed = [override for override in self._fixed if override not in own]
            self._next[job.number] = [*fixed, *own, f"+{SWEEP}={format_value(entry)}"]
        return HydraJob(self, files)

    def is_scheduled(self, number: int) -> bool:
        """Return whether a job waits for the launcher, or is in its batch. A launcher without work gets the next."""
        is_at_work = self._thread is not None and self._thread.is_alive()
        if self._next and not is_at_work:
            self._batch, self._next, is_at_work = self._next, {}, True
            self._thread = Thread(target=self._launch, args=(self._batch,), name="hydra", daemon=True)
            self._thread.start()
        return number in self._next or (is_at_work and number in self._batch)

    def failure_of(self, number: int) -> str | None:
        return self._failures.get(number)

    def _launch(self, batch: dict[int, list[str]]) -> None:
        try:
            ends = self._launcher.launch(list(batch.values()), initial_job_idx=0)
            self._failures = {
                number: failure
                for number, end in zip(batch, ends, strict=True)
                if (failure := _find_failure(end)) is not None
            }
        except Exception as error:  # a plugin may raise anything
            self._failures = dict.fromkeys(batch, f"the launcher: {one_line(error)}")


class HydraJob(ScheduledJob):
    """A job that a launcher of Hydra's has got, or will get."""

    restarts_killed = False

    def __init__(self, backend: HydraBackend, files: JobFiles) -> None:
        super().__init__(files)
        self._backend = backend

    def is_scheduled(self) -> bool:
        return self._backend.is_scheduled(self._files.number)

    def failure(self) -> str | None:
        return self._backend.failure_of(self._files.number)


def _find_failure(end: JobReturn) -> str | None:
    """Return a job's error in one line, or None. Hydra raises it when a caller asks for the result."""
    try:
        with redirect_stderr(io.StringIO()):
            _ = end.return_value
    except Exception as error:  # a plugin may raise anything
        return one_line(error)
    return None
