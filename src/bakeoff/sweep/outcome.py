"""How a job ended -> its state, why it is not done, and what of its experiment a table shows."""

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

from bakeoff.runs.known import KnownRun, known_runs
from bakeoff.runs.report import DISK, ERROR, NO_ROOM, OUT_OF_MEMORY
from bakeoff.runs.status import State
from bakeoff.sweep.manifest import JobState, SweepJob
from bakeoff.tracking.result import Result, result_of

KILLED = "killed"
INTERRUPTED = "stopped by Ctrl-C"
PASSING = (KILLED, NO_ROOM, OUT_OF_MEMORY, DISK)  # it may go better the next time; not so a loss that is no number
STAGE_KILLED = re.compile(r"exited with -\d+")  # as DVC says it of a stage that a signal ended
TRAIN, EVALUATE = "train", "evaluate"
SECONDS_TO_LEAVE = 1.0  # it still has to close its journal


def settled(
    job: SweepJob, code: int | None, now: float, *, last_words: Sequence[str] = (), interrupted: bool = False
) -> SweepJob:
    """`code` is None of a job that was killed; `last_words` are the end of its log."""
    if code == 0:
        result = result_of(job.experiment)
        found: dict[str, Any] = {"fingerprint": None, "run_id": None, "value": None}
        if TRAIN in job.stages:
            lineage = result.state.get("lineage") or {}
            found = {"fingerprint": lineage.get("fingerprint"), "run_id": result.run_id, "value": _value(job, result)}
            if result.state.get("state") == State.STOPPED:
                steps = f"stopped after step {result.state.get('step'):,} of {job.steps:,}"
                return job.over(now, JobState.STOPPED, steps, **found)
        return job.over(now, JobState.DONE, **found)
    last = last_run(job, known_runs())
    if interrupted:
        return job.over(now, JobState.STOPPED, INTERRUPTED)
    if code is not None and code >= 0 and last is not None and last.state in (State.STOPPED, State.CANCELED):
        return job.over(now, JobState.STOPPED, "stopped")
    return job.over(now, JobState.FAILED, _why(code, last, last_words))


def pruned(job: SweepJob, now: float, why: str) -> SweepJob:
    """What it trained until then is known, so that it can be cleared away."""
    last = last_run(job, known_runs())
    return job.over(now, JobState.PRUNED, why, fingerprint=last.fingerprint if last else None)


def has_trained(job: SweepJob) -> bool:
    """Whether its training said its last word, and had the time to leave."""
    last = last_run(job, known_runs())
    return last is not None and not last.state.is_live and time.time() - last.updated > SECONDS_TO_LEAVE


def is_passing(job: SweepJob) -> bool:
    return job.state == JobState.FAILED and job.why.split(":")[0] in PASSING


def is_interrupted(job: SweepJob) -> bool:
    """By the end of its launcher; nobody wanted the job itself to end."""
    return job.state == JobState.STOPPED and job.why == INTERRUPTED


def last_run(job: SweepJob, runs: Iterable[KnownRun]) -> KnownRun | None:
    """What its training said, if the last attempt came to that."""
    began = job.attempts[-1].began if job.attempts else 0.0
    own = [run for run in runs if run.said and run.said.experiment == job.experiment and run.said.started >= began]
    return max(own, key=lambda run: run.updated, default=None)


def _why(code: int | None, last: KnownRun | None, last_words: Sequence[str]) -> str:
    if code is None or code < 0:  # the job itself, or DVC in it
        return KILLED
    if last is not None and last.failure is not None and last.failure.kind != ERROR:
        return f"{last.failure.kind}: {last.failure.message}"
    if stage := next((line for line in last_words if STAGE_KILLED.search(line)), None):
        return f"{KILLED}: {stage.removeprefix('ERROR: ')}"
    return last.failure.message if last is not None and last.failure is not None else f"ended with code {code}"


def _value(job: SweepJob, result: Result) -> float | None:
    # Without the stage that evaluates, the experiment holds the metrics of the commit that it started from.
    value = result.metrics.get(job.headline) if EVALUATE in job.stages else None
    return None if value is None else float(value)
