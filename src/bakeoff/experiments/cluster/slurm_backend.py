"""Slurm as a backend, by submitit: each job of a sweep is a job of Slurm's, which may lose its node and starts again.

The workspace must be under the same path on every node. submitit's own files of a sweep are beside its manifest.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.experiments.sweep import process_group, scheduled_job
from bakeoff.experiments.sweep.backend import Backend, JobProcess
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.scheduled_job import ScheduledJob
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, SweepManifest
from bakeoff.foundation.errors import ConfigError, one_line
from bakeoff.foundation.files import write_whole
from bakeoff.tracking.journal.journal_folder import is_held

NAME = "slurm"
FOLDER = "submitit"
SECONDS_BETWEEN_QUERIES = 2.0
SHARED = (  # submitit's names of settings for any kind of cluster
    "name", "timeout_min", "mem_gb", "nodes", "cpus_per_task", "gpus_per_node", "tasks_per_node", "stderr_to_stdout",
)  # fmt: skip
DEFAULTS = {"timeout_min": 60, "signal_delay_s": 120, "max_num_timeout": 0, "stderr_to_stdout": True}


@dataclass(frozen=True)
class SlurmTask:
    """What submitit runs on a node. It asks Slurm to start the same again, if the node is taken away."""

    files: JobFiles
    cache: Path

    def __call__(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        scheduled_job.run_job(self.files, self.cache)

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class SlurmBackend(Backend):
    """The partitions of a cluster. `settings` are submitit's: partition, timeout_min, gres, ..."""

    name, starts_later = NAME, True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings: dict[str, Any] = DEFAULTS | dict(settings)
        self._alive, self._asked_at = set[str](), float("-inf")

    def seats(self, side_by_side: int | None) -> Seats:
        return Seats(side_by_side or sys.maxsize, sys.maxsize)

    def take_up(self, manifest: SweepManifest) -> None:
        self._make_executor(manifest.folder)

    def find(self, job: SweepJob, files: JobFiles) -> JobProcess | None:
        if self.is_alive(number := _read_number(files)):
            return SlurmJob(self, files, number)
        return super().find(job, files)

    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        """Submit a job, unless Slurm itself starts it again."""
        files.forget_outcome()
        seats.take(job)
        if self.is_alive(number := _read_number(files)):
            return SlurmJob(self, files, number)
        executor = self._make_executor(files.folder, name=job.experiment)
        try:
            number = executor.submit(SlurmTask(JobFiles(files.folder.resolve(), files.number), cache.resolve())).job_id
        except Exception as error:  # sbatch may refuse a job for any reason
            return SlurmJob(self, files, "", f"Slurm: {one_line(error)}")
        write_whole(_note_of(files), number)
        self._alive.add(number)
        return SlurmJob(self, files, number)

    def is_alive(self, number: str) -> bool:
        """Return whether Slurm has a job in its queue, or runs it."""
        if time.monotonic() - self._asked_at > SECONDS_BETWEEN_QUERIES:
            command = ["squeue", "--noheader", "--me", "--format=%A"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self._asked_at = time.monotonic()
            if done.returncode == 0:  # otherwise Slurm does not answer now
                self._alive = set(done.stdout.split())
        return number in self._alive

    def cancel(self, number: str) -> None:
        subprocess.run(["scancel", number], capture_output=True, check=False)

    def _make_executor(self, folder: Path, name: str = "bakeoff") -> Any:
        from submitit import AutoExecutor

        settings = {"name": name} | self._settings
        most = settings.pop("max_num_timeout")
        executor = AutoExecutor(folder.resolve() / FOLDER, cluster=NAME, slurm_max_num_timeout=most)
        for key, value in settings.items():
            try:
                executor.update_parameters(**{key if key in SHARED else f"{NAME}_{key}": value})
            except (AssertionError, NameError, TypeError, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise ConfigError(f"hydra.launcher.{key}: {reason}; see submitit's parameters") from None
        return executor


class SlurmJob(ScheduledJob):
    """A job of Slurm's."""

    restarts_killed = True

    def __init__(self, backend: SlurmBackend, files: JobFiles, number: str, failure: str | None = None) -> None:
        super().__init__(files)
        self._backend, self._number, self._failure = backend, number, failure

    def is_scheduled(self) -> bool:
        return self._failure is None and self._backend.is_alive(self._number)

    def failure(self) -> str | None:
        where = f"{self._files.folder / FOLDER}/{self._number}_0_log.out"
        return self._failure or f"Slurm's job {self._number} ended before it began; see {where}"

    def ask(self, number: int) -> None:
        """Send a signal to the job. One that waits is taken out of Slurm's queue."""
        super().ask(number)
        if number == process_group.KILL or not is_held(self._files.lock):
            self._backend.cancel(self._number)
            _note_of(self._files).unlink(missing_ok=True)


def _note_of(files: JobFiles) -> Path:
    """Return the file that keeps the number of a job in Slurm, for a later launcher."""
    return files.folder / f"{files.number}.slurm"


def _read_number(files: JobFiles) -> str:
    try:
        return _note_of(files).read_text(encoding="utf-8")
    except OSError:
        return ""
