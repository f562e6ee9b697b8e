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

from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError, choices
from bakeoff.foundation.files import write_whole

FILE, LOCK, VERSION = "manifest.json", "lock", 1
FAILURES = 5  # a search ends if so many trials, from the first on, are lost
# Version 1 of the file has these keys, which are older than the names in the code.
KEYS_ON_DISK = {"overrides": "words", "configurations": "points", "validations": "looks"}
ValidationPass = tuple[int, float]  # a step, and the metric there


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"  # by Ctrl-C or `bakeoff stop`; it can resume
    PRUNED = "pruned"  # given up by a search, because others are better
    REFUSED = "refused"  # drawn by a search, and not a valid variant

    @property
    def is_final(self) -> bool:
        """Return whether nothing is left to do."""
        return self in (JobState.DONE, JobState.PRUNED, JobState.REFUSED)


@dataclass(frozen=True)
class JobAttempt:
    began: float  # seconds since 1970
    ended: float | None = None
    state: JobState = JobState.RUNNING
    why: str | None = None  # the reason, if it is not done


@dataclass(frozen=True)
class SweepJob:
    number: int  # from 1, and never another's
    experiment: str  # its name in DVC
    variant: str
    # The overrides in which each differs from others. The first runs, the others render the same run.yaml.
    configurations: tuple[tuple[str, ...], ...]
    options: tuple[str, ...]  # of `dvc exp run -S`
    stages: tuple[str, ...]
    steps: int
    memory_bytes: int
    headline: str  # the metric by which its task is judged
    training: str  # equal for jobs that certainly end in the same weights
    state: JobState = JobState.WAITING
    attempts: tuple[JobAttempt, ...] = ()
    fingerprint: str | None = None
    run_id: str | None = None  # the tag `bakeoff.run` in MLflow
    value: float | None = None  # the headline metric
    rendered: str | None = None  # a digest, equal for trials that render the same run.yaml
    validations: tuple[ValidationPass, ...] = ()  # of a trial that is over
    devices: int | str = 1  # `train.devices`
    max_minutes: float | None = None  # `train.max_minutes`

    @property
    def name(self) -> str:
        return " ".join(self.configurations[0]) or "params.yaml"

    @property
    def longest_seconds(self) -> float | None:
        """Return how long it may train in all."""
        return None if self.max_minutes is None else 60 * self.max_minutes

    @property
    def varied(self) -> dict[str, str]:
        """Return the values that its configuration sets, as they were written."""
        pairs = (override.lstrip("+").partition("=") for override in self.configurations[0])
        return {key: value for key, is_set, value in pairs if is_set}

    @property
    def why(self) -> str:
        """Return the reason why its last attempt is not done."""
        return (self.attempts[-1].why if self.attempts else None) or ""

    @property
    def metric(self) -> str:
        """Return `mAP_50 0.835`, or - if there is none yet."""
        return "-" if self.value is None else f"{self.headline} {self.value:.3f}"

    def in_state(self, state: JobState) -> "SweepJob":
        return replace(self, state=state)

    def begin(self, now: float) -> "SweepJob":
        return replace(self, state=JobState.RUNNING, attempts=(*self.attempts, JobAttempt(now)))

    def end(self, now: float, state: JobState, why: str | None = None, **result: Any) -> "SweepJob":
        """Return the job with its last attempt ended. `result` has its fingerprint, run_id and value."""
        *before, last = self.attempts or (JobAttempt(now),)
        ended = max(now, last.began)  # clocks are set back
        return replace(
            self, state=state, attempts=(*before, replace(last, ended=ended, state=state, why=why)), **result
        )


@dataclass(frozen=True)
class SweepManifest:
    """A sweep and its jobs. Only its launcher writes the file, and readers find the old content or the new one."""

    id: str
    overrides: tuple[str, ...]  # of the command line
    until: str | None
    began: float
    baseline: str  # the commit that experiments are listed under
    snapshot: str  # the commit that holds the workspace as it was
    track: dict[str, Any]  # where MLflow's copies go, by run.yaml
    jobs: tuple[SweepJob, ...]
    search: Search | None = None  # None: its jobs are all there from the start
    note: str | None = None  # the note of all its runs
    place: str | None = None  # where its jobs ran last, as for `--on`
    person: str | None = None  # of conf/team.yaml, whose minutes its jobs use

    @property
    def folder(self) -> Path:
        return workspace.sweeps() / self.id

    @property
    def expected(self) -> int:
        """Return the number of jobs, with those that a search will draw."""
        return max(len(self.jobs), self.search.trials if self.search else 0)

    @property
    def is_hopeless(self) -> bool:
        """Return whether all first trials of a search were lost, so that the others most likely would be, too."""
        lost = (JobState.FAILED, JobState.REFUSED)
        return self.search is not None and len(self.jobs) >= FAILURES and all(job.state in lost for job in self.jobs)

    @property
    def undrawn(self) -> int:
        """Return the number of trials that a search will draw."""
        return 0 if self.is_hopeless else self.expected - len(self.jobs)

    @property
    def unfinished(self) -> int:
        """Return the number of jobs that are left to do, with those that a search will draw."""
        return self.undrawn + sum(not job.state.is_final for job in self.jobs)

    @property
    def states(self) -> set[JobState]:
        """Return the states of its jobs. A job that a search will draw waits."""
        return {job.state for job in self.jobs} | ({JobState.WAITING} if self.undrawn else set())

    @property
    def counts(self) -> str:
        """Return a text such as `3 done, 1 failed`."""
        states = [job.state for job in self.jobs]
        drawn = [f"{states.count(state)} {state}" for state in JobState if state in states]
        more = self.expected - len(states)
        return ", ".join([*drawn, f"{more} to be drawn"] if more else drawn)

    def job(self, number: int) -> SweepJob:
        return self.jobs[number - 1]

    def with_job(self, job: SweepJob) -> "SweepManifest":
        return replace(self, jobs=tuple(job if other.number == job.number else other for other in self.jobs))

    def with_more(self, jobs: Sequence[SweepJob]) -> "SweepManifest":
        return replace(self, jobs=(*self.jobs, *jobs))

    def write(self) -> None:
        """Write the file whole, also if the machine loses power now."""
        write_whole(self.folder / FILE, self.as_text(), lasting=True)

    def as_text(self) -> str:
        tree = {"version": VERSION} | asdict(self)
        tree["jobs"] = [_rename_keys(job) for job in tree["jobs"]]
        return json.dumps(_rename_keys(tree), indent=1) + "\n"


def _rename_keys(tree: dict[str, Any]) -> dict[str, Any]:
    return {KEYS_ON_DISK.get(key, key): value for key, value in tree.items()}


def load_manifest(folder: Path) -> SweepManifest:
    try:
        tree = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if (version := tree.pop("version")) == VERSION:
            return _parse(tree)
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise WorkspaceError(f"{folder.name}: {FILE} cannot be read ({error}); start the sweep again") from None
    raise WorkspaceError(f"{folder.name}: {FILE} must be of version {VERSION}, got {version}; start the sweep again")


def _parse(tree: dict[str, Any]) -> SweepManifest:
    overrides, search = tuple(tree.pop("words")), tree.pop("search", None)
    jobs = tuple(_parse_job(entry) for entry in tree.pop("jobs"))
    if search is not None:
        search = Search(**(search | {"stages": tuple(search.get("stages", ()))}))
    return SweepManifest(overrides=overrides, jobs=jobs, search=search, **tree)


def _parse_job(tree: dict[str, Any]) -> SweepJob:
    known = {
        "attempts": tuple(JobAttempt(**(entry | {"state": JobState(entry["state"])})) for entry in tree["attempts"]),
        "configurations": tuple(map(tuple, tree.pop("points"))),
        "options": tuple(tree["options"]),
        "stages": tuple(tree["stages"]),
        "state": JobState(tree["state"]),
        "validations": tuple((step, value) for step, value in tree.pop("looks", ())),
    }
    return SweepJob(**(tree | known))


def all_ids() -> list[str]:
    """Return the ids of all sweeps, the newest first. A sweep has an id as soon as it has a manifest."""
    return sorted((file.parent.name for file in workspace.sweeps().glob(f"*/{FILE}")), reverse=True)


def find_manifest(name: str | None) -> SweepManifest:
    """Return the sweep whose id starts with `name`, or the newest one without a name."""
    ids = all_ids()
    if not ids:
        raise WorkspaceError("no sweep has started here yet; `bakeoff sweep lr=cosine,exponential` starts one")
    matches = [known for known in ids if known.startswith(name)] if name and name not in ids else [name or ids[0]]
    if len(matches) != 1:
        many = f"must name one sweep, got {len(matches)}; " if matches else "no sweep has this id; "
        raise WorkspaceError(f"{name}: {many}{choices(str(name), matches or ids)}")
    return load_manifest(workspace.sweeps() / matches[0])


class RunElsewhere(WorkspaceError):
    """Another process is the launcher of a sweep."""


@contextmanager
def one_launcher(folder: Path) -> Iterator[None]:
    """Hold the lock of a sweep's only launcher. It ends with the process, however that ends."""
    try:
        lock = FileLock(folder / LOCK).acquire(timeout=0)
    except Timeout:
        raise RunElsewhere(f"{folder.name}: is being run by another process; wait for it or end it first") from None
    with lock:
        yield
