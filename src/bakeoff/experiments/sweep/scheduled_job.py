"""A job that a scheduler starts in its own time, and may start again: Slurm, or a launcher of Hydra's.

For a scheduler a job is a function that starts one process and waits for it. So it may run anywhere, as long as the
workspace is there under the same path. The launcher of the sweep knows the job by its files beside the manifest.
"""

import os
import signal
import subprocess
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from bakeoff.experiments.runs.run_status import is_wanted
from bakeoff.experiments.sweep import job as jobs
from bakeoff.experiments.sweep import process_group
from bakeoff.experiments.sweep.backend import JobProcess, LocalProcess
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_process import KILLED, TAKEN_AWAY
from bakeoff.experiments.sweep.sweep_manifest import load_manifest
from bakeoff.foundation.errors import TRY_AGAIN_LATER
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.signals import TAKES_AWAY, handling
from bakeoff.tracking.journal.journal_folder import is_held

SECONDS_BETWEEN_CHECKS = 0.2
REQUEUES = TAKES_AWAY[-1]  # SIGUSR2, on which submitit asks for a requeue; SIGTERM it leaves to Slurm


class JobFailed(RuntimeError):
    """The error that a scheduler gets; the manifest has the reason."""


class ScheduledJob(JobProcess):
    """The process of a job that a scheduler has got."""

    restarts_killed: bool  # whether the scheduler starts a job again whose machine has failed

    def __init__(self, files: JobFiles) -> None:
        self._files, self._has_begun = files, False

    @abstractmethod
    def is_scheduled(self) -> bool:
        """Return whether the scheduler will start the job, runs it, or may start it again."""

    def has_begun(self) -> bool:
        self._has_begun = self._has_begun or is_held(self._files.lock) or self._files.exit_code() is not None
        return self._has_begun

    def is_over(self) -> bool:
        is_scheduled = self.is_scheduled()  # read before the files, or a job that ends now would not have begun
        if not self.has_begun() or is_held(self._files.lock):
            return not self._has_begun and not is_scheduled
        code = self._files.exit_code()
        if code == TRY_AGAIN_LATER and is_scheduled:
            self.lost = TAKEN_AWAY
        return code is not None or not (self.restarts_killed and is_scheduled)

    def ask(self, number: int) -> None:
        """Send a signal to the job. If it has not begun, it does not begin."""
        write_whole(self._files.signal, str(number))

    def end(self, *, asked: bool = False) -> None:
        super().end(asked=asked)
        LocalProcess(self._files, None).end()  # what a killed job has left on this machine


def run_job(files: JobFiles, cache: Path) -> None:
    """Run a job, in the process that the scheduler chose. `cache` is that of DVC."""
    os.chdir(files.folder.parents[2])  # the main workspace
    if files.signal.exists() or not is_wanted(load_manifest(files.folder).job(files.number).experiment):
        raise JobFailed("called off")
    child = jobs.start_job(files, cache, ())
    with _pass_signals_on(child.pid):
        code = _wait_for(child, files.signal)
    if code:
        raise JobFailed(KILLED if code < 0 else f"ended with code {code}")


def _wait_for(child: "subprocess.Popen[bytes]", asked: Path) -> int:
    """Wait for a job's end and return its exit code. Pass the signals on that its launcher leaves in a file."""
    while (code := child.poll()) is None:
        with suppress(OSError, ValueError):
            number = int(asked.read_text(encoding="utf-8"))
            asked.unlink()
            process_group.ask(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(SECONDS_BETWEEN_CHECKS)
    return code


@contextmanager
def _pass_signals_on(leader: int) -> Iterator[None]:
    """Pass signals that take the machine away on to the session of a job.

    When the job has saved and ended, the scheduler's own handler runs: submitit's asks Slurm to start the job again.
    """
    came: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        came.append(number)
        process_group.ask(leader, signal.SIGTERM)

    before: dict[int, Any] = {}
    try:
        with handling(TAKES_AWAY, pass_on) as before:
            yield
    finally:
        handler = before.get(REQUEUES) if came else None
        if callable(handler):
            handler(REQUEUES, None)
