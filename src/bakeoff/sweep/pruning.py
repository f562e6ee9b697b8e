"""What a sweep left and needs no more: workspaces of jobs that are dead, checkpoints of points that are not best."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from bakeoff.runs.known import known_runs
from bakeoff.runs.leftovers import Leftover, named_by, these_runs
from bakeoff.sweep.job import JobFiles
from bakeoff.sweep.job_workspace import all_job_workspaces
from bakeoff.sweep.manifest import Manifest, SweepJob
from bakeoff.sweep.standing import merit
from bakeoff.tracking.journal import is_held


@dataclass(frozen=True)
class Prunable:
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


def prunable(manifest: Manifest, keep: int) -> list[Prunable]:
    """Checkpoints of the `keep` best stay, and those of points that are not done: they go on from them."""
    return [*_workspaces(manifest), *_checkpoints(manifest, keep)]


def _workspaces(manifest: Manifest) -> Iterator[Prunable]:
    for job in manifest.jobs:
        path = all_job_workspaces() / job.experiment
        if path.is_dir():
            runs = is_held(JobFiles(manifest.folder, job.number).lock)
            yield Prunable(job, "temporary workspace", own_bytes(path), "still runs" if runs else None, path)


def own_bytes(folder: Path) -> int:
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
    runs = {run.fingerprint: run for run in known_runs() if not run.waits}
    names, ranked = named_by(), _ranked(manifest)
    kept = {job.fingerprint for job in ranked[:keep]} | {
        job.fingerprint for job in manifest.jobs if not job.state.is_final
    }
    for job in ranked:
        if job.fingerprint in runs:
            [left] = these_runs([runs[job.fingerprint]], list(runs.values()), names)
            stays = "of the best" if job.fingerprint in kept else left.stays
            yield Prunable(job, "checkpoints", left.bytes, stays, left.path, left)


def _ranked(manifest: Manifest) -> list[SweepJob]:
    """Those that are over and left checkpoints, the best first, each training once."""
    done = [job for job in manifest.jobs if job.state.is_final and job.fingerprint]
    ranked = sorted(done, key=lambda job: merit(manifest, job), reverse=True)
    return list({job.fingerprint: job for job in reversed(ranked)}.values())[::-1]
