"""Where a sweep stands: which of its points is best, the best in the workspace, and what is needed no more."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from bakeoff import dvc
from bakeoff.errors import WorkspaceError
from bakeoff.files import write_table
from bakeoff.mending import repair
from bakeoff.runs.known import known_runs
from bakeoff.runs.leftovers import Leftover, named_by, these_runs
from bakeoff.sweep.job import JobFiles
from bakeoff.sweep.job_workspace import all_job_workspaces
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.snapshot import changed_since, experiment_ref
from bakeoff.tracking.journal import is_held


def best(manifest: Manifest) -> SweepJob | None:
    """By the metric of its task, of which more is better, or as its search says; the first of equals; None if nothing
    was evaluated."""
    return max(_judged(manifest), key=lambda job: merit(manifest, job), default=None)


def require_best(manifest: Manifest) -> SweepJob:
    found = best(manifest)
    if found is None:
        done = sum(job.state == JobState.DONE for job in manifest.jobs)
        raise WorkspaceError(
            f"{manifest.id}: no point has been evaluated ({done} of {len(manifest.jobs)} are done), so none is best; "
            "`bakeoff sweep --resume` goes on, and --until must reach evaluate"
        )
    return found


def merit(manifest: Manifest, job: SweepJob) -> float:
    """More is better; the least of one without a value."""
    if job.value is None:
        return float("-inf")
    return -job.value if manifest.search is not None and manifest.search.direction == "min" else job.value


def ranked(manifest: Manifest) -> list[SweepJob]:
    """Those that are done, the best first; then what has no result, in order."""
    judged = _judged(manifest)
    others = [job for job in manifest.jobs if job not in judged]
    return [*sorted(judged, key=lambda job: -merit(manifest, job)), *others]


def _judged(manifest: Manifest) -> list[SweepJob]:
    return [job for job in manifest.jobs if job.state == JobState.DONE and job.value is not None]


def write_results(manifest: Manifest, file: Path) -> None:
    write_table(file, [_row(job) for job in manifest.jobs])


def _row(job: SweepJob) -> dict[str, Any]:
    last = job.attempts[-1] if job.attempts else None
    return {
        "number": job.number,
        "experiment": job.experiment,
        **job.varied,
        "variant": job.variant,
        "state": job.state.value,
        job.headline: "" if job.value is None else job.value,
        "attempts": len(job.attempts),
        "seconds": "" if last is None or last.ended is None else round(last.ended - last.began, 1),
        "fingerprint": job.fingerprint or "",
        "run": job.run_id or "",
        "why": job.why,
    }


def apply_point(manifest: Manifest, job: SweepJob) -> None:
    """Take it into the workspace: params.yaml, run.yaml, weights, and a dvc.lock after which nothing is to do.

    By `dvc exp apply`; refused if it would take away edits that were made since the sweep began.
    """
    ref = experiment_ref(job.experiment)
    if ref is None:
        raise WorkspaceError(f"{job.experiment}: DVC has no such experiment any more; `dvc exp list` says which")
    lost = sorted({*changed_since(manifest.snapshot)} & {*changed_since(ref)})
    if lost:
        raise WorkspaceError(
            f"{', '.join(lost)}: edited since {manifest.id} began, and would be as they were then; `git stash` first"
        )
    repair(dvc.cache())
    dvc.answer("exp", "apply", job.experiment)


@dataclass(frozen=True)
class Prunable:
    """The workspace of a job that is dead, or checkpoints of a point that is not best."""

    job: SweepJob
    what: str
    bytes: int
    stays: str | None  # why
    path: Path
    run: Leftover | None = None

    def remove(self) -> bool:
        if self.run is not None:
            return self.run.remove()
        shutil.rmtree(self.path)
        return True


def find_prunable(manifest: Manifest, keep: int) -> list[Prunable]:
    """Checkpoints of the `keep` best stay, and those of points that are not done: they go on from them."""
    return [*_workspaces(manifest), *_checkpoints(manifest, keep)]


def _workspaces(manifest: Manifest) -> Iterator[Prunable]:
    for job in manifest.jobs:
        path = all_job_workspaces() / job.experiment
        if path.is_dir():
            runs = is_held(JobFiles(manifest.folder, job.number).lock)
            yield Prunable(job, "temporary workspace", _own_bytes(path), "still runs" if runs else None, path)


def _own_bytes(folder: Path) -> int:
    """That are free once it is gone: git's objects and records are there as links, and stay where they are."""
    total = 0
    for path in (folder, *folder.rglob("*")):
        try:
            stat = path.lstat()
        except OSError:
            continue
        total += stat.st_size if S_ISDIR(stat.st_mode) or stat.st_nlink == 1 else 0
    return total


def _checkpoints(manifest: Manifest, keep: int) -> Iterator[Prunable]:
    """Of points that are over, the best first, each training once."""
    runs = {run.fingerprint: run for run in known_runs() if not run.waits}
    over = [job for job in manifest.jobs if job.state.is_final and job.fingerprint]
    by_merit = sorted(over, key=lambda job: merit(manifest, job), reverse=True)
    jobs = list({job.fingerprint: job for job in reversed(by_merit)}.values())[::-1]
    goes_on = {job.fingerprint for job in manifest.jobs if not job.state.is_final}
    kept, names = goes_on | {job.fingerprint for job in jobs[:keep]}, named_by()
    for job in jobs:
        if job.fingerprint in runs:
            [left] = these_runs([runs[job.fingerprint]], list(runs.values()), names)
            stays = "of the best" if job.fingerprint in kept else left.stays
            yield Prunable(job, "checkpoints", left.bytes, stays, left.path, left)
