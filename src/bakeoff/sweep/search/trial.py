"""A drawn point -> a job of the search: to run, or over already, for it is no variant or one that was tried."""

import time
from collections.abc import Sequence
from dataclasses import replace

from bakeoff import workspace
from bakeoff.config.variant import read_variant
from bakeoff.errors import ConfigError
from bakeoff.run.settings import as_tree
from bakeoff.run.yaml_file import read_mapping
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.parameters import set_options
from bakeoff.sweep.planned import digest_of, sweep_job
from bakeoff.sweep.points import Point
from bakeoff.sweep.search.as_begun import as_begun
from bakeoff.sweep.search.settings import Search

ENDED_WELL = (JobState.DONE, JobState.PRUNED)


def trial_of(point: Point, manifest: Manifest, search: Search) -> SweepJob:
    """The next of the manifest."""
    number = len(manifest.jobs) + 1
    try:
        job = _read(number, point, manifest, search)
    except ConfigError as error:
        return _refused(number, point, manifest, search, "; ".join(str(error).splitlines()))
    twin = _twin(job, manifest.jobs)
    return job if twin is None else _like(job, twin)


def _read(number: int, point: Point, manifest: Manifest, search: Search) -> SweepJob:
    folder = as_begun(manifest)
    params = folder / workspace.PARAMS
    variant = read_variant(
        params, folder / workspace.CONF, workspace.RECORDS, facts=workspace.facts(), overrides=point.overrides
    )
    run = variant.whole()
    options = set_options(read_mapping(params), variant.composed.said[0].document.values)
    job = sweep_job(manifest.id, number, [point], run, options, search.stages)
    return replace(job, headline=search.metric, rendered=digest_of(as_tree(run)))


def _refused(number: int, point: Point, manifest: Manifest, search: Search, why: str) -> SweepJob:
    now = time.time()
    job = SweepJob(
        number=number, experiment=f"{manifest.id}-{number}", variant="-", points=(point.varied,), options=(),
        stages=search.stages, steps=0, memory_bytes=0, headline=search.metric, training="",
    )  # fmt: skip
    return job.begun(now).over(now, JobState.REFUSED, why)


def _twin(job: SweepJob, jobs: Sequence[SweepJob]) -> SweepJob | None:
    """One that is over. Beside one that still runs a job waits, and takes what it leaves from DVC's cache."""
    alike = (other for other in jobs if other.state in ENDED_WELL and other.rendered == job.rendered)
    return next(alike, None)


def _like(job: SweepJob, twin: SweepJob) -> SweepJob:
    now = time.time()
    same = {"value": twin.value, "fingerprint": twin.fingerprint, "run_id": twin.run_id, "looks": twin.looks}
    return job.begun(now).over(now, twin.state, f"the same run.yaml as {twin.number}", **same)
