"""A search as the source of a sweep's jobs: draws the next while others run, and gives up those that fall behind."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bakeoff import workspace
from bakeoff.sweep.manifest import JobState, Look, Manifest, SweepJob
from bakeoff.sweep.search.as_begun import as_begun
from bakeoff.sweep.search.giving_up import why_give_up
from bakeoff.sweep.search.looks import OnTheWay, number_in
from bakeoff.sweep.search.settings import Search
from bakeoff.sweep.search.space import space_of
from bakeoff.sweep.search.suggest import suggestion
from bakeoff.sweep.search.trial import trial_of
from bakeoff.tracking.result import result_of

FAILURES = 5  # from the first on, after which a search ends
LOST = (JobState.FAILED, JobState.REFUSED)


class Searching:
    def __init__(self, manifest: Manifest) -> None:
        assert manifest.search is not None
        self._search: Search = manifest.search
        self._space = space_of(manifest.words, as_begun(manifest) / workspace.CONF)
        self._on_the_way = OnTheWay(self._search.watched)
        self._judged: dict[int, int] = {}  # looks of each trial that were judged

    def more(self, manifest: Manifest, seats: int) -> Sequence[SweepJob]:
        return list(self._drawn(manifest, seats))

    def _drawn(self, manifest: Manifest, seats: int) -> Iterator[SweepJob]:
        """What is over already takes no seat."""
        while seats > 0 and not self.is_dry(manifest):
            point = self._space.point(suggestion(self._space, self._search, manifest.jobs))
            job = trial_of(point, manifest, self._search)
            manifest = manifest.with_more([job])
            seats -= job.state == JobState.WAITING
            yield job

    def is_dry(self, manifest: Manifest) -> bool:
        return len(manifest.jobs) >= self._search.trials or is_hopeless(manifest)

    def gives_up(self, manifest: Manifest, job: SweepJob) -> str | None:
        looks = self._on_the_way.looks(job) if self._search.prunes else ()
        if len(looks) <= self._judged.get(job.number, 0) or looks[-1][0] >= job.steps:
            return None
        self._judged[job.number] = len(looks)
        everybody = {other.number: other.looks or self._known(other) for other in manifest.jobs}
        return why_give_up(self._search, manifest.jobs, everybody | {job.number: looks}, job.number)

    def _known(self, job: SweepJob) -> tuple[Look, ...]:
        return self._on_the_way.looks(job) if job.state == JobState.RUNNING else ()

    def settled(self, job: SweepJob) -> SweepJob:
        """With what its looks saw, which TPE and the pruners ask for; and the best of them, if that is the metric."""
        if job.state == JobState.PRUNED:
            return replace(job, looks=self._on_the_way.looks(job))
        if job.state != JobState.DONE:
            return job
        seen = ((line["step"], number_in(line, self._search.watched)) for line in result_of(job.experiment).lines)
        looks = tuple((step, value) for step, value in seen if value is not None)
        value = self._search.best(value for _, value in looks) if self._search.is_of_training else job.value
        return replace(job, looks=looks, value=value)


def is_hopeless(manifest: Manifest) -> bool:
    """Whether the first were all lost, so that the others will most likely be, too."""
    return len(manifest.jobs) >= FAILURES and all(job.state in LOST for job in manifest.jobs)
