"""`.bakeoff/sweeps/<id>/manifest.json`: what a sweep is made of and how far each of its jobs is.

{"version": 1, "id": "sweep-20260102-030405", "words": ["lr=cosine,exponential"], "snapshot": "8df53e…", "jobs": [
  {"number": 1, "experiment": "sweep-20260102-030405-1", "state": "done", "attempts": [{"began": 1767323045.1}]}]}
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bakeoff import workspace
from bakeoff.errors import ConfigError, WorkspaceError, choices
from bakeoff.files import write_whole
from bakeoff.sweep.search.settings import Search

FILE, LOCK, VERSION = "manifest.json", "lock", 1
FAILURES = 5  # from the first on, after which a search ends
Look = tuple[int, float]  # a step, and what validation saw there


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"  # by Ctrl-C or `bakeoff stop`; it can go on
    PRUNED = "pruned"  # given up by a search, for others are better
    REFUSED = "refused"  # drawn by a search, and no variant

    @property
    def is_final(self) -> bool:
        """Nothing is left to do."""
        return self in (JobState.DONE, JobState.PRUNED, JobState.REFUSED)


@dataclass(frozen=True)
class Attempt:
    began: float  # seconds since 1970
    ended: float | None = None
    state: JobState = JobState.RUNNING
    why: str | None = None  # it is not done


@dataclass(frozen=True)
class SweepJob:
    number: int  # from 1, and never another's
    experiment: str  # DVC's name of it
    variant: str
    points: tuple[tuple[str, ...], ...]  # overrides in which they differ from others; the first is the one that runs
    options: tuple[str, ...]  # of `dvc exp run -S`
    stages: tuple[str, ...]
    steps: int
    memory_bytes: int
    headline: str  # the metric by which its task is judged
    training: str  # equal for jobs that end in the same weights; those of others may be the same, too
    state: JobState = JobState.WAITING
    attempts: tuple[Attempt, ...] = ()
    fingerprint: str | None = None
    run_id: str | None = None  # under which MLflow has it, as `bakeoff.run`
    value: float | None = None  # of the headline
    rendered: str | None = None  # of a trial: equal for those that render the same run.yaml
    looks: tuple[Look, ...] = ()  # of a trial that is over
    devices: int | str = 1  # `train.devices`
    max_minutes: float | None = None  # `train.max_minutes`

    @property
    def name(self) -> str:
        return " ".join(self.points[0]) or "params.yaml"

    @property
    def longest_seconds(self) -> float | None:
        """How long it may train in all."""
        return None if self.max_minutes is None else 60 * self.max_minutes

    @property
    def varied(self) -> dict[str, str]:
        """What its point sets, as it was written."""
        pairs = (override.lstrip("+").partition("=") for override in self.points[0])
        return {key: value for key, is_set, value in pairs if is_set}

    @property
    def why(self) -> str:
        """It is not done, by its last attempt."""
        return (self.attempts[-1].why if self.attempts else None) or ""

    @property
    def metric(self) -> str:
        """`mAP_50 0.835`, or - where there is none yet."""
        return "-" if self.value is None else f"{self.headline} {self.value:.3f}"

    def in_state(self, state: JobState) -> "SweepJob":
        return replace(self, state=state)

    def begin(self, now: float) -> "SweepJob":
        return replace(self, state=JobState.RUNNING, attempts=(*self.attempts, Attempt(now)))

    def end(self, now: float, state: JobState, why: str | None = None, **found: Any) -> "SweepJob":
        """Return the job with its last attempt ended; `found` are its fingerprint, run_id, value."""
        *before, last = self.attempts or (Attempt(now),)
        ended = max(now, last.began)  # clocks are set back
        return replace(self, state=state, attempts=(*before, replace(last, ended=ended, state=state, why=why)), **found)


@dataclass(frozen=True)
class Manifest:
    """Its launcher alone writes it, the old content or the new; everybody may read it."""

    id: str
    words: tuple[str, ...]  # of the command line
    until: str | None
    began: float
    baseline: str  # the commit that experiments are listed under
    snapshot: str  # the commit that holds the workspace as it was
    track: dict[str, Any]  # where MLflow's copies go, by run.yaml
    jobs: tuple[SweepJob, ...]
    search: Search | None = None  # None: its jobs are all there from the beginning
    note: str | None = None  # of all its runs
    place: str | None = None  # where its jobs ran last, as `--on` says it
    person: str | None = None  # of conf/team.yaml, whose minutes its jobs use

    @property
    def folder(self) -> Path:
        return workspace.sweeps() / self.id

    @property
    def expected(self) -> int:
        """Jobs, those included that a search will draw."""
        return max(len(self.jobs), self.search.trials if self.search else 0)

    @property
    def is_hopeless(self) -> bool:
        """Whether a search's first trials were all lost, so that the others will most likely be, too."""
        lost = (JobState.FAILED, JobState.REFUSED)
        return self.search is not None and len(self.jobs) >= FAILURES and all(job.state in lost for job in self.jobs)

    @property
    def undrawn(self) -> int:
        """Trials that a search has not drawn yet, and will."""
        return 0 if self.is_hopeless else self.expected - len(self.jobs)

    @property
    def unfinished(self) -> int:
        """Jobs that are left to do, those included that are still to be drawn."""
        return self.undrawn + sum(not job.state.is_final for job in self.jobs)

    @property
    def states(self) -> set[JobState]:
        """Those of its jobs; what is still to be drawn waits."""
        return {job.state for job in self.jobs} | ({JobState.WAITING} if self.undrawn else set())

    @property
    def counts(self) -> str:
        """`3 done, 1 failed`."""
        states = [job.state for job in self.jobs]
        drawn = [f"{states.count(state)} {state}" for state in JobState if state in states]
        more = self.expected - len(states)
        return ", ".join([*drawn, f"{more} to be drawn"] if more else drawn)

    def job(self, number: int) -> SweepJob:
        return self.jobs[number - 1]

    def with_job(self, job: SweepJob) -> "Manifest":
        return replace(self, jobs=tuple(job if other.number == job.number else other for other in self.jobs))

    def with_more(self, jobs: Sequence[SweepJob]) -> "Manifest":
        return replace(self, jobs=(*self.jobs, *jobs))

    def write(self) -> None:
        """Whole, also if the machine ends now."""
        write_whole(self.folder / FILE, self.as_text(), lasting=True)

    def as_text(self) -> str:
        tree = {"version": VERSION} | asdict(self)
        return json.dumps(tree, indent=1) + "\n"


def load_manifest(folder: Path) -> Manifest:
    try:
        tree = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if (version := tree.pop("version")) == VERSION:
            return _parse(tree)
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise WorkspaceError(f"{folder.name}: {FILE} cannot be read ({error}); start the sweep anew") from None
    raise WorkspaceError(f"{folder.name}: {FILE} must be of version {VERSION}, got {version}; start the sweep anew")


def _parse(tree: dict[str, Any]) -> Manifest:
    words, search = tuple(tree.pop("words")), tree.pop("search", None)
    jobs = tuple(_parse_job(entry) for entry in tree.pop("jobs"))
    if search is not None:
        search = Search(**(search | {"stages": tuple(search.get("stages", ()))}))
    return Manifest(words=words, jobs=jobs, search=search, **tree)


def _parse_job(tree: dict[str, Any]) -> SweepJob:
    known = {
        "attempts": tuple(Attempt(**(entry | {"state": JobState(entry["state"])})) for entry in tree["attempts"]),
        "points": tuple(map(tuple, tree["points"])),
        "options": tuple(tree["options"]),
        "stages": tuple(tree["stages"]),
        "state": JobState(tree["state"]),
        "looks": tuple((step, value) for step, value in tree.get("looks", ())),
    }
    return SweepJob(**(tree | known))


def all_ids() -> list[str]:
    """The newest first; a sweep has an id as soon as it has a manifest."""
    return sorted((file.parent.name for file in workspace.sweeps().glob(f"*/{FILE}")), reverse=True)


def find_manifest(name: str | None) -> Manifest:
    """By its id, or the beginning of it; the newest without a name."""
    ids = all_ids()
    if not ids:
        raise WorkspaceError("no sweep has begun here yet; `bakeoff sweep lr=cosine,exponential` begins one")
    found = [own for own in ids if own.startswith(name)] if name and name not in ids else [name or ids[0]]
    if len(found) != 1:
        many = f"must name one sweep, got {len(found)}; " if found else "no sweep has this id; "
        raise WorkspaceError(f"{name}: {many}{choices(str(name), found or ids)}")
    return load_manifest(workspace.sweeps() / found[0])


@contextmanager
def one_launcher(folder: Path) -> Iterator[None]:
    """The lock ends with its process, however that ends."""
    try:
        lock = FileLock(folder / LOCK).acquire(timeout=0)
    except Timeout:
        raise WorkspaceError(f"{folder.name}: is being run by another process; wait for it or end it first") from None
    with lock:
        yield
