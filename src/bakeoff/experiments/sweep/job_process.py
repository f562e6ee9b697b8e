"""One job as its launcher sees it: its output, whether it still runs, and how it ended."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.runs.status_writer import DISK, ERROR, NO_ROOM, OUT_OF_MEMORY
from bakeoff.experiments.sweep import process_group
from bakeoff.experiments.sweep.backend import JobProcess
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import TRY_AGAIN_LATER, is_disk_full
from bakeoff.foundation.machine import disk_free
from bakeoff.learning.plan.run_length import format_done
from bakeoff.tracking.results.results import Result, result_of

KILLED = "killed"
INTERRUPTED = "stopped by Ctrl-C"
TAKEN_AWAY = "stopped, for the machine was taken away"
PASSING = (KILLED, NO_ROOM, OUT_OF_MEMORY, DISK)  # failures that another attempt may not have
STAGE_KILLED = re.compile(r"exited with -\d+")  # DVC's message about a stage that a signal ended
LEAST_LEFT = 10e6  # bytes of disk that a job needs at least
TRAIN, EVALUATE = "train", "evaluate"
SECONDS_TO_LEAVE = 1.0  # training needs them to close its journal
SECONDS_BETWEEN_REMINDERS = 2.0


class Following:
    """Reads the new lines of a job's log."""

    def __init__(self, log: Path, *, has_started: bool = False) -> None:
        """New lines are those from now on. Older ones are of an earlier attempt, unless the job `has_started`."""
        self._log = log
        self._offset = log.stat().st_size if log.is_file() else 0
        self._start = 0 if has_started else self._offset

    def lines(self, *, ended: bool = False) -> Iterator[str]:
        """Yield the lines that were written since the last call. If the job has `ended`, the last may lack its end."""
        content = self._read(self._offset)
        whole = content if ended else content[: content.rfind(b"\n") + 1]
        self._offset += len(whole)
        yield from whole.decode("utf-8", errors="replace").splitlines()

    def last_lines(self, number: int) -> list[str]:
        """Return the last lines of this attempt."""
        return self._read(self._start).decode("utf-8", errors="replace").splitlines()[-number:]

    def _read(self, offset: int) -> bytes:
        if not self._log.is_file():
            return b""
        with self._log.open("rb") as file:
            file.seek(offset)
            return file.read()


@dataclass
class Running:
    """A job that runs, with its process and its log."""

    files: JobFiles
    following: Following
    process: JobProcess
    given_up: str | None = None  # the reason, if a search has given it up
    _asked: float = 0.0  # when it was asked to end
    _reminded: float = 0.0

    def give_up(self, why: str) -> None:
        """Ask the job to end, as Ctrl-C does, so that training saves."""
        self.given_up = why
        self._asked = self._reminded = time.monotonic()
        self.process.ask(process_group.INTERRUPT)

    def insist(self, job: SweepJob) -> None:
        """End a job that was asked to end and still runs.

        DVC ignores the signal while a stage runs, and continues with the next stage. So that one is asked, too, once
        training is saved.
        """
        now = time.monotonic()
        if now - self._asked > process_group.SECONDS_TO_END:
            self.process.ask(process_group.KILL)
        elif now - self._reminded > SECONDS_BETWEEN_REMINDERS:
            self._reminded = now
            if has_trained(job):
                self.process.ask(process_group.INTERRUPT)


def settle(
    job: SweepJob, code: int | None, now: float, *, log_end: Sequence[str] = (), interrupted: bool = False
) -> SweepJob:
    """Return the job as it ended. `code` is None if it was killed. `log_end` are the last lines of its log."""
    if code == 0:
        result = result_of(job.experiment)
        facts: dict[str, Any] = {"fingerprint": None, "run_id": None, "value": None}
        if TRAIN in job.stages:
            facts = {
                "fingerprint": result.state.lineage.fingerprint,
                "run_id": result.run_id,
                "value": _find_value(job, result),
            }
            if result.state.is_stopped:
                steps = f"stopped after step {format_done(result.state.last_step, job.steps)}"
                return job.end(now, JobState.STOPPED, steps, **facts)
        return job.end(now, JobState.DONE, **facts)
    if code == TRY_AGAIN_LATER:
        return job.end(now, JobState.STOPPED, TAKEN_AWAY)
    if interrupted:
        return job.end(now, JobState.STOPPED, INTERRUPTED)
    last = last_run(job, known_runs())
    ended = last.status.state if last is not None and last.status is not None else None  # it may wait to resume already
    if code is not None and code >= 0 and ended in (State.STOPPED, State.CANCELED):
        return job.end(now, JobState.STOPPED, "stopped")
    return job.end(now, JobState.FAILED, _find_reason(code, last, log_end))


def settle_pruned(job: SweepJob, now: float, why: str) -> SweepJob:
    """Return a job that was given up, with its fingerprint, so that its checkpoints can be removed."""
    last = last_run(job, known_runs())
    return job.end(now, JobState.PRUNED, why, fingerprint=last.fingerprint if last else None)


def has_trained(job: SweepJob) -> bool:
    """Return whether its training has ended, and had the time to leave."""
    last = last_run(job, known_runs())
    return last is not None and not last.state.is_live and abs(time.time() - last.updated) > SECONDS_TO_LEAVE


def is_passing(job: SweepJob) -> bool:
    """Return whether it failed for a reason that may be gone the next time."""
    return job.state == JobState.FAILED and job.why.split(":")[0] in PASSING


def is_interrupted(job: SweepJob) -> bool:
    """Return whether it stopped only because its launcher ended."""
    return job.state == JobState.STOPPED and job.why in (INTERRUPTED, TAKEN_AWAY)


def last_run(job: SweepJob, runs: Iterable[KnownRun]) -> KnownRun | None:
    """Return the run of its training, or None if the last attempt did not get that far."""
    began = job.attempts[-1].began if job.attempts else 0.0
    own = (
        run for run in runs if run.status and run.status.experiment == job.experiment and run.status.started >= began
    )
    return max(own, key=lambda run: run.updated, default=None)


def _find_reason(code: int | None, last: KnownRun | None, log_end: Sequence[str]) -> str:
    left = disk_free(workspace.main_workspace())
    full = next((line.strip() for line in reversed(log_end) if is_disk_full(OSError(line))), None)
    if full is None and left is not None and left < LEAST_LEFT:  # not even a message fits
        full = f"{left / 1e6:.1f} MB are left"
    if full is not None:
        return f"{DISK}: {full}"
    if code is None or code < 0:  # the job itself, or DVC in it
        return KILLED
    if last is not None and last.failure is not None and last.failure.kind != ERROR:
        return f"{last.failure.kind}: {last.failure.message}"
    if stage := next((line for line in log_end if STAGE_KILLED.search(line)), None):
        return f"{KILLED}: {stage.removeprefix('ERROR: ')}"
    return last.failure.message if last is not None and last.failure is not None else f"ended with code {code}"


def _find_value(job: SweepJob, result: Result) -> float | None:
    # Without the stage that evaluates, the experiment holds the metrics of the commit that it started from.
    value = result.metrics.get(job.headline) if EVALUATE in job.stages else None
    return None if value is None else float(value)
