"""Where the processes of jobs run: on this machine, or where a cluster puts them. A launch knows only this interface.

A backend starts jobs and finds those of an earlier launcher. Their processes are followed by `is_over`, which also
fetches results, and stopped by `ask` and `end`. The backends are `LocalBackend`, `HydraBackend`, `RayBackend` and
`SlurmBackend`. Log, outcome and lock of a job are always found beside the manifest, in the main workspace: `JobFiles`.
"""

import subprocess
from abc import ABC, abstractmethod
from pathlib import Path

from bakeoff.experiments.sweep import job as jobs
from bakeoff.experiments.sweep import process_group
from bakeoff.experiments.sweep.job import ALREADY_RUNS, JobFiles
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, SweepManifest
from bakeoff.foundation.machine import VISIBLE_GPUS
from bakeoff.tracking.journal.journal_folder import is_held

LOCAL = "local"  # what `--on` calls this machine


class JobProcess(ABC):
    """The process of one job."""

    lost: str | None = None  # why it ended without an outcome, if that was not its fault; it may start elsewhere

    def has_begun(self) -> bool:
        """Return whether it runs, or has run. Otherwise its backend will start it."""
        return True

    @abstractmethod
    def is_over(self) -> bool:
        """Return whether it has ended. Then its log is whole, and so are its result and its outcome, if it left them.

        It may be over without having begun, if its backend could not start it.
        """

    def failure(self) -> str | None:
        """Return why its backend did not start it, if it said so."""
        return None

    @abstractmethod
    def ask(self, number: int) -> None:
        """Send this signal to it and to all processes that it has started."""

    def end(self, *, asked: bool = False) -> None:
        """End its processes, also those that are left after a kill. If it was `asked` to end, wait first.

        Elsewhere they get one signal after the other.
        """
        if not self.is_over():
            process_group.end_by_signals(self.ask, self.is_over, asked=asked)

    def gpus(self) -> tuple[str, ...]:
        """Return the GPUs of this machine that it holds."""
        return ()


class Backend(ABC):
    """Where jobs run."""

    name: str  # the value of `--on` for this place
    starts_later = False  # whether a job may wait for its turn once it is started

    @abstractmethod
    def seats(self, side_by_side: int | None) -> Seats:
        """Return seats for so many jobs side by side, or for as many as there is room for."""

    def take_up(self, manifest: SweepManifest) -> None:
        """Prepare for the jobs of a sweep. Raises WorkspaceError if they cannot run here."""
        return

    def refuses(self, job: SweepJob) -> str | None:
        """Return why a job can never run here; None if it can."""
        return None

    def find(self, job: SweepJob, files: JobFiles) -> JobProcess | None:
        """Return the process that an earlier launcher started, if it still runs."""
        return LocalProcess(files, None) if is_held(files.lock) else None

    @abstractmethod
    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        """Start the process of a job, whose last attempt is this one."""


class LocalProcess(JobProcess):
    """A job on this machine, or on another one that shares its disk."""

    def __init__(self, files: JobFiles, child: subprocess.Popen[bytes] | None) -> None:
        """`child` is None if another process started it."""
        self.files, self.child = files, child

    @property
    def session(self) -> int | None:
        return process_group.find_noted_session(self.files.process) if self.child is None else self.child.pid

    def is_over(self) -> bool:
        if self.child is not None and self.child.poll() == ALREADY_RUNS:
            self.child = None  # another process runs the job and holds its lock
        return not is_held(self.files.lock) if self.child is None else self.child.poll() is not None

    def ask(self, number: int) -> None:
        if (leader := self.session) is not None:
            process_group.ask(leader, number)

    def end(self, *, asked: bool = False) -> None:
        if (leader := self.session) is not None:
            process_group.end(leader, asked=asked)
        if self.child is not None:
            self.child.wait()

    def gpus(self) -> tuple[str, ...]:
        """Return the GPUs that an earlier launcher gave it."""
        leader = self.session
        visible = process_group.environment_of(leader).get(VISIBLE_GPUS, "") if leader is not None else ""
        return tuple(filter(None, visible.split(",")))


class LocalBackend(Backend):
    """Jobs run beside the launch, on cores and GPUs of their own."""

    name = LOCAL

    def seats(self, side_by_side: int | None) -> Seats:
        return Seats.here(side_by_side or 1)

    def start(self, job: SweepJob, files: JobFiles, cache: Path, seats: Seats) -> JobProcess:
        cores = seats.take(job)
        return LocalProcess(files, jobs.start_job(files, cache, cores, seats.gpus_of(job)))
