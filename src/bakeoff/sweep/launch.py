"""Jobs -> DVC experiments, one after the other; what failed is said at once, and the others go on."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff import workspace
from bakeoff.config.run import Derived
from bakeoff.runs.queue import dequeue, enqueue
from bakeoff.sweep.job import exp_run, run_job
from bakeoff.sweep.preflight import Job
from bakeoff.tracking import git

DONE, FAILED, STOPPED, NOT_RUN = "done", "failed", "stopped", "not run"
LAST_LINES = 15
EVALUATE = "evaluate"


@dataclass(frozen=True)
class Result:
    job: Job
    experiment: str
    state: str
    metric: tuple[str, float] | None  # the headline metric; None if nothing was evaluated


def launch(jobs: Sequence[Job], say: Callable[[str], None], *, until: str | None, quiet: bool) -> list[Result]:
    """What came of each; Ctrl-C ends the job that runs, and those after it have the state NOT_RUN."""
    folder = new_folder(workspace.sweeps())
    say(f"sweep {folder.name}: logs in {os.path.relpath(folder)}{os.sep}")
    states = dict.fromkeys((job.number for job in jobs), NOT_RUN)
    for job in jobs:
        enqueue(_name(folder, job), job.run.name, job.derived.steps)
    try:
        for job in jobs:
            if not dequeue(_name(folder, job)):
                say(f"{job.number} of {len(jobs)} is not begun, as `bakeoff stop` asked")
                continue
            states[job.number] = STOPPED
            states[job.number] = _run(job, _name(folder, job), folder, len(jobs), say, until=until, quiet=quiet)
    except KeyboardInterrupt:
        say("stopped by Ctrl-C")
    finally:
        for job in jobs:
            dequeue(_name(folder, job))
    return [_result(job, _name(folder, job), states[job.number]) for job in jobs]


def new_folder(sweeps: Path) -> Path:
    """Named by the time; its name is the sweep's id, and experiments are named after it."""
    while True:
        folder = sweeps / time.strftime("sweep-%Y%m%d-%H%M%S")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:  # another sweep began in this second
            time.sleep(1)
        else:
            return folder


def _result(job: Job, experiment: str, state: str) -> Result:
    # Without the stage that evaluates, the experiment holds the metrics of the commit that it started from.
    judged = state == DONE and EVALUATE in job.stages
    return Result(job, experiment, state, headline(experiment, job.derived) if judged else None)


def headline(experiment: str, derived: Derived) -> tuple[str, float] | None:
    text = git.file_at(experiment, (workspace.EVALUATION / "metrics.json").as_posix())
    name = headline_name(derived)
    value = json.loads(text).get(name) if text else None
    return None if value is None else (name, float(value))


def headline_name(derived: Derived) -> str:
    """The tasks know it, but they compute, and a sweep does not load TensorFlow."""
    if derived.task == "detection":
        return "mAP_50"
    return "mean_average_precision" if derived.multi_label else "accuracy"


def _name(folder: Path, job: Job) -> str:
    return f"{folder.name}-{job.number}"


def _run(
    job: Job, name: str, folder: Path, number: int, say: Callable[[str], None], *, until: str | None, quiet: bool
) -> str:
    say(f"{job.number} of {number}: {job.points[0].name}  ({name})")
    log, began = folder / f"{job.number}.log", time.monotonic()
    code = run_job(exp_run(name, job.options, until), log, (lambda line: None) if quiet else say)
    if code == 0:
        say(f"{job.number} of {number} done in {time.monotonic() - began:.0f} s")
        return DONE
    say(f"{job.number} of {number} failed with code {code}; the end of {os.path.relpath(log)}:")
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]:
        say(f"  {line}")
    return FAILED
