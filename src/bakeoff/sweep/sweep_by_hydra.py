"""A sweeper of Hydra's, which proposes points batch by batch -> jobs of a sweep; their worth goes back to it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.planned import as_planned
from bakeoff.sweep.points import Point
from bakeoff.sweep.preflight import Job

Enter = Callable[[Sequence[Point], Manifest | None], Manifest]  # points that are new, into a sweep or a new one
Run = Callable[[Manifest], Manifest]


class Worthless(RuntimeError):
    """What a sweeper gets instead of a number."""


class Gate(Launcher):
    """What the sweeper takes for its launcher. A point that the sweep has already is not run again."""

    def __init__(self, enter: Enter, run: Run, manifest: Manifest | None = None) -> None:
        """`manifest` of a sweep that goes on."""
        self.manifest, self._enter, self._run = manifest, enter, run

    def setup(self, **ignored: object) -> None:
        """There is nothing to set up."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        points = [Point(tuple(words), tuple(words)) for words in job_overrides]
        new = [point for point in points if self._job_of(point) is None]
        if new:
            self.manifest = self._enter(new, self.manifest)
        assert self.manifest is not None
        if any(not job.state.is_final for job in map(self._job_of, points) if job):
            self.manifest = self._run(self.manifest)
        return [self._answer(point) for point in points]

    def _job_of(self, point: Point) -> SweepJob | None:
        jobs = self.manifest.jobs if self.manifest else ()
        return next((job for job in jobs if point.varied in job.points), None)

    def _answer(self, point: Point) -> JobReturn:
        job = self._job_of(point)
        assert job is not None
        done = JobReturn()
        done.overrides = list(point.overrides)
        if job.state == JobState.DONE and job.value is not None:
            done.status, done.return_value = JobStatus.COMPLETED, job.value
        else:
            done.status, done.return_value = JobStatus.FAILED, Worthless(f"{job.name}: {job.state}")
        return done


def with_more(manifest: Manifest, jobs: Sequence[Job]) -> Manifest:
    """With numbers after those that the sweep has. Written."""
    numbered = (replace(job, number=len(manifest.jobs) + place) for place, job in enumerate(jobs, 1))
    manifest = manifest.with_more([as_planned(job, manifest.id) for job in numbered])
    manifest.write()
    return manifest
