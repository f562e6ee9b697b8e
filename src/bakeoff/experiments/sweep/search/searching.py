"""A search -> the jobs of a sweep: it draws the next ones while others run, and gives up those that fall behind."""

import time
from collections.abc import Sequence
from dataclasses import replace

from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import as_tree
from bakeoff.experiments.sweep.configurations import Configuration
from bakeoff.experiments.sweep.git_snapshot import restore_start_folder
from bakeoff.experiments.sweep.params_diff import list_options
from bakeoff.experiments.sweep.plan_jobs import digest_of, sweep_job
from bakeoff.experiments.sweep.resources import JobSource
from bakeoff.experiments.sweep.search.pruning import ProgressReader, find_pruning_reason, read_number
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.search.space import parse_space
from bakeoff.experiments.sweep.search.study import suggest
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob, SweepManifest
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.run_file.yaml_file import read_mapping
from bakeoff.tracking.results.results import result_of


class Searching(JobSource):
    def __init__(self, manifest: SweepManifest) -> None:
        assert manifest.search is not None
        self._search: Search = manifest.search
        self._space = parse_space(manifest.overrides, restore_start_folder(manifest) / workspace.CONF)
        self._progress = ProgressReader(self._search.watched)
        self._judged: dict[int, int] = {}  # by trial: how many of its validation passes were judged

    def more(self, manifest: SweepManifest, seats: int) -> Sequence[SweepJob]:
        """Draw trials until every seat is taken. A trial that is over at once takes none."""
        drawn: list[SweepJob] = []
        while seats > 0 and not self.is_dry(manifest):
            configuration = self._space.make_configuration(suggest(self._space, self._search, manifest.jobs))
            drawn.append(make_trial(configuration, manifest, self._search))
            manifest = manifest.with_more(drawn[-1:])
            seats -= drawn[-1].state == JobState.WAITING
        return drawn

    def is_dry(self, manifest: SweepManifest) -> bool:
        return manifest.undrawn == 0

    def gives_up(self, manifest: SweepManifest, job: SweepJob) -> str | None:
        passes = self._progress.read_passes(job) if self._search.prunes else ()
        judged = self._judged.get(job.number, 0)
        if len(passes) <= judged or passes[-1][0] >= job.steps:
            return None
        self._judged[job.number] = len(passes)
        everybody = {other.number: other.validations for other in manifest.jobs}
        running = (other for other in manifest.jobs if other.state == JobState.RUNNING and not other.validations)
        everybody |= {other.number: self._progress.read_passes(other) for other in running} | {job.number: passes}
        return find_pruning_reason(self._search, manifest.jobs, everybody, job.number, judged=judged)

    def complete(self, job: SweepJob) -> SweepJob:
        """Return a job with its validation passes, and with the best of them if that is the search's metric."""
        if job.state == JobState.PRUNED:
            return replace(job, validations=self._progress.read_passes(job))
        if job.state != JobState.DONE:
            return job
        seen = ((line["step"], read_number(line, self._search.watched)) for line in result_of(job.experiment).lines)
        passes = tuple((step, value) for step, value in seen if value is not None)
        value = self._search.best(value for _, value in passes) if self._search.is_of_training else job.value
        return replace(job, validations=passes, value=value)


def make_trial(configuration: Configuration, manifest: SweepManifest, search: Search) -> SweepJob:
    """Return the next job of the manifest. It is over at once if it is no valid variant, or if it was tried before."""
    number, now = len(manifest.jobs) + 1, time.time()
    try:
        job = _plan_trial(number, configuration, manifest, search)
    except ConfigError as error:
        refused = SweepJob(
            number=number, experiment=f"{manifest.id}-{number}", variant="-", configurations=(configuration.varied,),
            options=(), stages=search.stages, steps=0, memory_bytes=0, headline=search.metric, training="",
        )  # fmt: skip
        return refused.begin(now).end(now, JobState.REFUSED, "; ".join(str(error).splitlines()))
    # An equal trial that still runs is no twin: the job waits for it, and takes its results from DVC's cache.
    over = (other for other in manifest.jobs if other.state in (JobState.DONE, JobState.PRUNED))
    twin = next((other for other in over if other.rendered == job.rendered), None)
    if twin is None:
        return job
    same = {
        "value": twin.value,
        "fingerprint": twin.fingerprint,
        "run_id": twin.run_id,
        "validations": twin.validations,
    }
    return job.begin(now).end(now, twin.state, f"the same run.yaml as {twin.number}", **same)


def _plan_trial(number: int, configuration: Configuration, manifest: SweepManifest, search: Search) -> SweepJob:
    folder = restore_start_folder(manifest)
    params = folder / workspace.PARAMS
    variant = read_variant(
        params, folder / workspace.CONF, workspace.RECORDS, facts=workspace.facts(), overrides=configuration.overrides
    )
    run = variant.whole()
    options = list_options(read_mapping(params), variant.composed.changed_params())
    job = sweep_job(manifest.id, number, [configuration], run, options, search.stages)
    return replace(job, headline=search.metric, rendered=digest_of(as_tree(run)))
