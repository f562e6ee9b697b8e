"""A search as the source of a sweep's jobs: draws the next while others run, and gives up those that fall behind."""

import time
from collections.abc import Sequence
from dataclasses import replace

from bakeoff import workspace
from bakeoff.config.variant import read_variant
from bakeoff.errors import ConfigError
from bakeoff.run.settings import as_tree
from bakeoff.run.yaml_file import read_mapping
from bakeoff.sweep.admission import Source
from bakeoff.sweep.manifest import JobState, Manifest, SweepJob
from bakeoff.sweep.parameters import set_options
from bakeoff.sweep.points import Point
from bakeoff.sweep.preflight import digest_of, sweep_job
from bakeoff.sweep.search.pruning import OnTheWay, number_in, why_give_up
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.space import space_of
from bakeoff.sweep.search.study import suggestion
from bakeoff.sweep.snapshot import folder_as_begun
from bakeoff.tracking.result import result_of


class Searching(Source):
    def __init__(self, manifest: Manifest) -> None:
        assert manifest.search is not None
        self._search: Search = manifest.search
        self._space = space_of(manifest.words, folder_as_begun(manifest) / workspace.CONF)
        self._on_the_way = OnTheWay(self._search.watched)
        self._judged: dict[int, int] = {}  # looks of each trial that were judged

    def more(self, manifest: Manifest, seats: int) -> Sequence[SweepJob]:
        """What is over already takes no seat."""
        drawn: list[SweepJob] = []
        while seats > 0 and not self.is_dry(manifest):
            point = self._space.point(suggestion(self._space, self._search, manifest.jobs))
            drawn.append(trial_of(point, manifest, self._search))
            manifest = manifest.with_more(drawn[-1:])
            seats -= drawn[-1].state == JobState.WAITING
        return drawn

    def is_dry(self, manifest: Manifest) -> bool:
        return manifest.undrawn == 0

    def gives_up(self, manifest: Manifest, job: SweepJob) -> str | None:
        looks = self._on_the_way.looks(job) if self._search.prunes else ()
        judged = self._judged.get(job.number, 0)
        if len(looks) <= judged or looks[-1][0] >= job.steps:
            return None
        self._judged[job.number] = len(looks)
        everybody = {other.number: other.looks for other in manifest.jobs}
        running = (other for other in manifest.jobs if other.state == JobState.RUNNING and not other.looks)
        everybody |= {other.number: self._on_the_way.looks(other) for other in running} | {job.number: looks}
        return why_give_up(self._search, manifest.jobs, everybody, job.number, judged=judged)

    def complete(self, job: SweepJob) -> SweepJob:
        """With what its looks saw, which TPE and the pruners ask for; and the best of them, if that is the metric."""
        if job.state == JobState.PRUNED:
            return replace(job, looks=self._on_the_way.looks(job))
        if job.state != JobState.DONE:
            return job
        seen = ((line["step"], number_in(line, self._search.watched)) for line in result_of(job.experiment).lines)
        looks = tuple((step, value) for step, value in seen if value is not None)
        value = self._search.best(value for _, value in looks) if self._search.is_of_training else job.value
        return replace(job, looks=looks, value=value)


def trial_of(point: Point, manifest: Manifest, search: Search) -> SweepJob:
    """Return the next job of the manifest: to run, or over already, for it is no variant or one that was tried."""
    number, now = len(manifest.jobs) + 1, time.time()
    try:
        job = _plan_trial(number, point, manifest, search)
    except ConfigError as error:
        refused = SweepJob(
            number=number, experiment=f"{manifest.id}-{number}", variant="-", points=(point.varied,), options=(),
            stages=search.stages, steps=0, memory_bytes=0, headline=search.metric, training="",
        )  # fmt: skip
        return refused.begin(now).end(now, JobState.REFUSED, "; ".join(str(error).splitlines()))
    # Beside one that still runs a job waits, and takes what it leaves from DVC's cache.
    over = (other for other in manifest.jobs if other.state in (JobState.DONE, JobState.PRUNED))
    twin = next((other for other in over if other.rendered == job.rendered), None)
    if twin is None:
        return job
    same = {"value": twin.value, "fingerprint": twin.fingerprint, "run_id": twin.run_id, "looks": twin.looks}
    return job.begin(now).end(now, twin.state, f"the same run.yaml as {twin.number}", **same)


def _plan_trial(number: int, point: Point, manifest: Manifest, search: Search) -> SweepJob:
    folder = folder_as_begun(manifest)
    params = folder / workspace.PARAMS
    variant = read_variant(
        params, folder / workspace.CONF, workspace.RECORDS, facts=workspace.facts(), overrides=point.overrides
    )
    run = variant.whole()
    options = set_options(read_mapping(params), variant.composed.said[0].document.values)
    job = sweep_job(manifest.id, number, [point], run, options, search.stages)
    return replace(job, headline=search.metric, rendered=digest_of(as_tree(run)))
