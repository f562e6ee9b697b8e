"""A sweep -> its best configuration, which can be applied to the workspace, and files that nobody needs any more."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from bakeoff.experiments.runs.cleanup import Leftover, named_by, these_runs
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.sweep.git_snapshot import changed_since, experiment_ref
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_workspace import all_job_workspaces
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest
from bakeoff.foundation import dvc
from bakeoff.foundation.dvc_repair import repair
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import write_table
from bakeoff.tracking.journal.journal_folder import is_held


def find_best(manifest: SweepManifest) -> SweepJob | None:
    """Return the best job, the first of equals, or None if none was evaluated.

    It is the one with the highest headline metric, unless the sweep's search has another direction.
    """
    return max(_select_judged(manifest), key=lambda job: measure_merit(manifest, job), default=None)


def require_best(manifest: SweepManifest) -> SweepJob:
    job = find_best(manifest)
    if job is None:
        done = sum(each.state == JobState.DONE for each in manifest.jobs)
        raise WorkspaceError(
            f"{manifest.id}: no configuration has been evaluated ({done} of {len(manifest.jobs)} are done), "
            "so none is best; `bakeoff sweep --resume` resumes it, and --until must reach evaluate"
        )
    return job


def measure_merit(manifest: SweepManifest, job: SweepJob) -> float:
    """Return a number that is higher for a better job, and the least for one without a value."""
    if job.value is None:
        return float("-inf")
    return -job.value if manifest.search is not None and manifest.search.direction == "min" else job.value


def rank_jobs(manifest: SweepManifest) -> list[SweepJob]:
    """Return the jobs with a result, the best first, then those without one, in order."""
    judged = _select_judged(manifest)
    others = [job for job in manifest.jobs if job not in judged]
    return [*sorted(judged, key=lambda job: -measure_merit(manifest, job)), *others]


def _select_judged(manifest: SweepManifest) -> list[SweepJob]:
    return [job for job in manifest.jobs if job.state == JobState.DONE and job.value is not None]


def write_results(manifest: SweepManifest, file: Path) -> None:
    write_table(file, [_make_row(job) for job in manifest.jobs])


def _make_row(job: SweepJob) -> dict[str, Any]:
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


def apply_configuration(manifest: SweepManifest, job: SweepJob) -> None:
    """Bring a job's params.yaml, run.yaml, weights and dvc.lock into the workspace, by `dvc exp apply`.

    Raises WorkspaceError if that would overwrite edits that were made since the sweep started.
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


def find_prunable(manifest: SweepManifest, keep: int) -> list[tuple[SweepJob, Leftover]]:
    """Return files of jobs that can be removed: workspaces of jobs that have ended, and checkpoints.

    Checkpoints of the `keep` best jobs and of unfinished ones stay.
    """
    return [*_list_workspaces(manifest), *_list_checkpoints(manifest, keep)]


def _list_workspaces(manifest: SweepManifest) -> Iterator[tuple[SweepJob, Leftover]]:
    for job in manifest.jobs:
        path = all_job_workspaces() / job.experiment
        if path.is_dir():
            stays = "still runs" if is_held(JobFiles(manifest.folder, job.number).lock) else None
            yield job, Leftover(path, "temporary workspace", _count_own_bytes(path), path.stat().st_mtime, stays=stays)


def _count_own_bytes(folder: Path) -> int:
    """Return the bytes that are free once the folder is gone, without files that are linked from elsewhere."""
    total = 0
    for path in (folder, *folder.rglob("*")):
        try:
            stat = path.lstat()
        except OSError:
            continue
        total += stat.st_size if S_ISDIR(stat.st_mode) or stat.st_nlink == 1 else 0
    return total


def _list_checkpoints(manifest: SweepManifest, keep: int) -> Iterator[tuple[SweepJob, Leftover]]:
    """Yield the checkpoints of jobs that are over, the best first, each training once."""
    runs = {run.fingerprint: run for run in known_runs() if not run.waits}
    over = [job for job in manifest.jobs if job.state.is_final and job.fingerprint]
    by_merit = sorted(over, key=lambda job: measure_merit(manifest, job), reverse=True)
    jobs = list({job.fingerprint: job for job in reversed(by_merit)}.values())[::-1]
    unfinished = {job.fingerprint for job in manifest.jobs if not job.state.is_final}
    kept, names = unfinished | {job.fingerprint for job in jobs[:keep]}, named_by()
    for job in jobs:
        if job.fingerprint in runs:
            [left] = these_runs([runs[job.fingerprint]], list(runs.values()), names)
            stays = "of the best" if job.fingerprint in kept else left.stays
            yield job, replace(left, what="checkpoints", stays=stays)
