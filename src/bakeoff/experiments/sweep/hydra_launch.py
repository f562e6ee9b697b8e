"""Jobs -> a launcher of Hydra, which starts each in its own way, and back: which have started, and how they ended.

For Hydra a job is a function that starts one process and waits for it. So a launcher may run several in one process, or
send them elsewhere, as long as the workspace is there under the same path. Hydra composes the configuration, with an
entry that names the sweep and the job.
"""

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher

from bakeoff.experiments.runs.run_status import dequeue, is_wanted
from bakeoff.experiments.sweep import job as jobs
from bakeoff.experiments.sweep import process_group
from bakeoff.experiments.sweep.backend import LocalProcess
from bakeoff.experiments.sweep.hydra_config import SWEEP
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_process import KILLED, TAKEN_AWAY, Following, Running
from bakeoff.experiments.sweep.launch import NOT_STARTED, Launch, LaunchOptions
from bakeoff.experiments.sweep.params_diff import format_value
from bakeoff.experiments.sweep.resources import Seats
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest, load_manifest
from bakeoff.foundation.errors import TRY_AGAIN_LATER, one_line
from bakeoff.foundation.signals import TAKES_AWAY
from bakeoff.tracking.journal.journal_folder import is_held

CACHE_OF = "dvc_cache"  # a file of the sweep: the path of DVC's cache, for processes that start a job elsewhere
CALLED_OFF = "called_off"  # a file of the sweep: while it is there, no process starts a job
SECONDS_BETWEEN_CHECKS = 0.2
REQUEUES = TAKES_AWAY[-1]  # SIGUSR2, on which submitit asks for a requeue; SIGTERM it leaves to Slurm


class JobFailed(RuntimeError):
    """The error that Hydra gets; the manifest has the reason."""


def run_one(config: Any) -> None:
    """Run a job, in the process that the launcher chose."""
    files = JobFiles(Path(config[SWEEP].folder), int(config[SWEEP].job))
    os.chdir(files.folder.parents[2])  # the main workspace
    if (files.folder / CALLED_OFF).exists() or not is_wanted(load_manifest(files.folder).job(files.number).experiment):
        raise JobFailed("called off")
    child = jobs.start_job(files, Path((files.folder / CACHE_OF).read_text(encoding="utf-8")), ())
    with _pass_signals_on(child.pid):
        code = child.wait()
    if code:
        raise JobFailed(KILLED if code < 0 else f"ended with code {code}")


@contextmanager
def _pass_signals_on(leader: int) -> Iterator[None]:
    """Pass signals that take the machine away on to the session of a job.

    When the job has saved and ended, the launcher's own handler runs: submitit's asks Slurm to start the job again.
    """
    came: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        came.append(number)
        process_group.ask(leader, signal.SIGTERM)

    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, pass_on) for number in TAKES_AWAY if is_main}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        handler = before.get(REQUEUES) if came else None
        if callable(handler):
            handler(REQUEUES, None)


class LaunchByHydra(Launch):
    """A launch whose jobs another launcher starts. It also decides how many run at once."""

    def __init__(
        self,
        manifest: SweepManifest,
        print_line: Callable[[str], None],
        rules: LaunchOptions,
        launcher: Launcher,
        fixed: Sequence[str],
    ) -> None:
        """`fixed` are the overrides that all configurations have in common."""
        super().__init__(manifest, print_line, rules, Seats(len(manifest.jobs) + 1, 0))
        self._launcher, self._fixed = launcher, fixed
        self._thread: Thread | None = None
        self._handed: dict[int, Following] = {}  # by number: reads the log from this attempt on
        self._reasons: dict[int, str] = {}  # by number: why a job was not started

    def take_up(self) -> None:
        super().take_up()
        (self.manifest.folder / CALLED_OFF).unlink(missing_ok=True)
        (self.manifest.folder / CACHE_OF).write_text(str(self._cache.resolve()), encoding="utf-8")

    def start(self) -> None:
        """Hand over all jobs that may start, once the launcher is free."""
        if self._thread is not None and self._thread.is_alive():
            return
        now = time.monotonic()
        numbers = [job.number for job in self._waiting() if now >= self._not_before.get(job.number, 0.0)]
        if not numbers:
            return
        for number in numbers:
            files = self._files(self.manifest.job(number))
            files.forget_outcome()
            self._handed[number] = Following(files.log)
        self._thread = Thread(target=self._launch, args=(numbers,), name="hydra", daemon=True)
        self._thread.start()

    def check_jobs(self) -> None:
        ended = self._thread is not None and not self._thread.is_alive()  # read before the jobs that it started
        self._note_started()
        for number in sorted(self._handed) if ended else ():
            del self._handed[number]
            self._settle_not_started(self.manifest.job(number))
        super().check_jobs()

    @property
    def is_over(self) -> bool:
        return super().is_over and not self._handed

    def interrupt(self, number: int = process_group.INTERRUPT) -> list[Running]:
        (self.manifest.folder / CALLED_OFF).touch()  # before a job ends, or the launcher would start the next
        return super().interrupt(number)

    def settle_interrupted(self) -> None:
        """End also jobs that were about to start, then settle those that ran."""
        while self._thread is not None and self._thread.is_alive():
            for job in self.manifest.jobs:
                files = self._files(job)
                if is_held(files.lock) and (leader := process_group.find_noted_session(files.process)) is not None:
                    process_group.end(leader)
            self._thread.join(SECONDS_BETWEEN_CHECKS)
        self._note_started()
        self._handed.clear()  # the others wait
        super().settle_interrupted()

    def _note_started(self) -> None:
        for number in sorted(self._handed):
            files = self._files(self.manifest.job(number))
            if is_held(files.lock) or files.exit_code() is not None:
                self._change(self.manifest.job(number).begin(time.time()))
                dequeue(self.manifest.job(number).experiment)
                self._running[number] = Running(files, self._handed.pop(number), LocalProcess(files, None))

    def _settle(self, job: SweepJob, running: Running) -> None:
        """Hand a job whose machine was taken away to the launcher again, as long as the launcher is at work."""
        is_at_work = self._thread is not None and self._thread.is_alive()
        if running.files.exit_code() == TRY_AGAIN_LATER and is_at_work:
            running.files.forget_outcome()
            self._handed[job.number] = running.following
            self._change(job.end(time.time(), JobState.STOPPED, TAKEN_AWAY).in_state(JobState.WAITING))
            self._report(job, f"is {TAKEN_AWAY}; its launcher begins it again")
        else:
            super()._settle(job, running)

    def _launch(self, numbers: list[int]) -> None:
        try:
            ends = self._launcher.launch([self._make_overrides(number) for number in numbers], initial_job_idx=0)
            reasons = {number: _find_failure(end) for number, end in zip(numbers, ends, strict=True)}
            self._reasons = {number: reason for number, reason in reasons.items() if reason}
        except Exception as error:  # a plugin may raise anything
            self._reasons = dict.fromkeys(numbers, f"the launcher: {one_line(error)}")

    def _make_overrides(self, number: int) -> list[str]:
        which = {"folder": str(self.manifest.folder.resolve()), "job": number}
        fixed = [override for override in self._fixed if override not in self.manifest.job(number).configurations[0]]
        return [*fixed, *self.manifest.job(number).configurations[0], f"+{SWEEP}={format_value(which)}"]

    def _settle_not_started(self, job: SweepJob) -> None:
        if job.why == TAKEN_AWAY:
            state, reason = JobState.STOPPED, TAKEN_AWAY
        elif is_wanted(job.experiment):
            state, reason = JobState.FAILED, self._reasons.get(job.number, "the launcher did not begin it")
        else:
            state, reason = JobState.STOPPED, NOT_STARTED
        dequeue(job.experiment)
        self._change(job.end(time.time(), state, reason))
        self._report(job, f"{state}: {reason}")
        self._retry(self.manifest.job(job.number))


def _find_failure(end: JobReturn) -> str | None:
    """Return a job's error in one line, or None. Hydra raises it when a caller asks for the result."""
    try:
        with redirect_stderr(io.StringIO()):
            _ = end.return_value
    except Exception as error:  # a plugin may raise anything
        return one_line(error)
    return None
