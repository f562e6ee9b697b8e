"""`conf/team.yaml`: minutes of training for a team, or for each of its people, and how many are left.

{minutes: 600, people: {ann: 120, ben: 120}, since: "2026-09-01"}

Nothing is booked. The minutes are counted anew each time, from the status of every run, from the queue, and from what
removed runs had spent. A run that waits or trains reserves its longest time. Once it has ended, it counts the time
that it spent. The counter trusts its users: whoever edits conf/team.yaml or removes `.bakeoff/` has other minutes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.minutes_used import read_spent, spent_by
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest, load_manifest
from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, WorkspaceError, choices, show
from bakeoff.learning.run_file.yaml_file import Document, read_document

FILE = workspace.TEAM
KEYS = ("minutes", "people", "since")
KEY, PERSON = "train.max_minutes", "person"


@dataclass(frozen=True)
class Team:
    minutes: float | None = None  # for all together
    people: tuple[tuple[str, float], ...] = ()  # each with their minutes
    since: float = 0.0  # seconds since 1970: runs that started before do not count

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.people]


@dataclass(frozen=True)
class QuotaUse:
    """The seconds that a run or a job has spent and reserved."""

    person: str
    spent: float = 0.0
    reserved: float = 0.0


@dataclass(frozen=True)
class Account:
    """The minutes of the team, whose name is "", or of a person."""

    name: str
    minutes: float
    spent: float
    reserved: float

    @property
    def owner(self) -> str:
        return self.name or "the team"

    @property
    def left(self) -> float:
        """Return what may still be reserved, rounded down to a tenth."""
        return max(0.0, math.floor(10 * (self.minutes - self.spent - self.reserved) + 1e-6) / 10)


def load_team() -> Team | None:
    """Return the content of conf/team.yaml, or None without such a file, when minutes are not counted."""
    if not FILE.is_file():
        return None
    document = read_document(FILE)
    for key in document.values:
        if key not in KEYS:
            raise _refuse(document, key, f"no such key; {choices(key, KEYS)}")
    people = document.values.get("people") or {}
    if not isinstance(people, dict):
        raise _refuse(document, "people", f"must be names with their minutes, got {show(people)}")
    each = tuple((name, _read_minutes(document, "people", name, number)) for name, number in people.items())
    minutes = document.values.get("minutes")
    if minutes is None and not each:
        raise ConfigError(f"{FILE.as_posix()}: minutes: must be set, for the team, or people: with minutes for each")
    return Team(None if minutes is None else _read_minutes(document, "minutes", "", minutes), each, _read_day(document))


def _read_minutes(document: Document, key: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        where = f"{key}.{name}" if name else key
        raise _refuse(document, key, f"must be a number of 0 or more, got {show(value)}", where)
    return float(value)


def _read_day(document: Document) -> float:
    value = document.values.get("since")
    if value is None:
        return 0.0
    try:
        return datetime.combine(date.fromisoformat(str(value)), time()).timestamp()
    except ValueError:
        raise _refuse(document, "since", f'must be a day such as "2026-09-01", got {show(value)}') from None


def _refuse(document: Document, key: str, why: str, where: str = "") -> ConfigError:
    return ConfigError(f"{FILE.as_posix()}:{document.lines.get((key,), 1)}: {where or key}: {why}")


def count_minutes(team: Team, runs: Sequence[KnownRun] | None = None) -> list[Account]:
    """Return the accounts of the team and of its people. `runs` are all known runs, if the caller has listed them."""
    uses = list(_list_uses(team, known_runs() if runs is None else runs))

    def account(name: str, minutes: float, counts: Callable[[QuotaUse], bool]) -> Account:
        counted = [use for use in uses if counts(use)]
        return Account(name, minutes, sum(use.spent for use in counted) / 60, sum(use.reserved for use in counted) / 60)

    accounts = [] if team.minutes is None else [account("", team.minutes, lambda use: True)]
    for name, minutes in team.people:
        accounts.append(account(name, minutes, lambda use, name=name: use.person == name))  # type: ignore[misc]
    return accounts


def _list_uses(team: Team, runs: Sequence[KnownRun]) -> Iterator[QuotaUse]:
    for run in runs:
        status = run.status
        if status is None:
            continue
        longest = (status.longest_seconds or 0.0) if run.state.is_live else 0.0
        reserved = max(0.0, longest - status.training_seconds)
        if run.state.is_live or status.began >= team.since:
            spent = spent_by(run)
            yield QuotaUse(_find_person(status.experiment), spent.seconds if spent else 0.0, reserved)
    for gone in read_spent():
        if gone.began >= team.since:
            yield QuotaUse(_find_person(gone.experiment), gone.seconds)
    yield from _list_between(runs)


def _list_between(runs: Sequence[KnownRun]) -> Iterator[QuotaUse]:
    """Yield jobs of the queue that no longer wait, and whose training has not started yet."""
    statuses = {run.status.experiment: run.status for run in runs if run.status}
    for sweep in list_queued_sweeps():
        try:
            manifest = load_manifest(workspace.sweeps() / sweep)
        except WorkspaceError:
            continue
        for job in manifest.jobs:
            began, status = job.attempts[-1].began if job.attempts else 0.0, statuses.get(job.experiment)
            if job.state == JobState.RUNNING and (status is None or status.updated < began):
                trained = status.training_seconds if status else 0.0  # by an attempt before
                yield QuotaUse(manifest.person or "", reserved=max(0.0, (job.longest_seconds or 0.0) - trained))


def _find_person(experiment: str | None) -> str:
    sweep = (experiment or "").rpartition("-")[0]
    return _read_person(workspace.sweeps() / sweep) if sweep else ""


@lru_cache(maxsize=1024)
def _read_person(folder: Path) -> str:
    """Return the person whose minutes a sweep uses, which never changes."""
    try:
        return load_manifest(folder).person or ""
    except WorkspaceError:
        return ""


def require_person(team: Team, person: str) -> None:
    """Raise ConfigError for a person whom conf/team.yaml does not name, or for none if only people have minutes."""
    file, allowed = FILE.as_posix(), choices(person, team.names)
    if person and person not in team.names:
        raise ConfigError(f"{PERSON}: no such person {show(person)} in {file}; {allowed}")
    if not person and team.minutes is None:
        raise ConfigError(f"{PERSON}: must be set, for {file} has minutes for people alone; {allowed}")


def require_minutes(longest: Sequence[float | None], person: str | None = None) -> None:
    """Raise ConfigError if conf/team.yaml leaves fewer minutes than these trainings may take."""
    team = load_team()
    if team is None:
        return
    require_person(team, person or "")
    if not longest:
        return
    accounts = [account for account in count_minutes(team) if account.name in ("", person or "")]
    account = min(accounts, key=lambda account: account.left)
    left = format_minutes(account.left)
    total = f"the {format_minutes(account.minutes)} minutes that {FILE.as_posix()} has for {account.owner}"
    if account.left <= 0:
        raise ConfigError(f"{KEY}: nothing is left of {total}; wait for what runs, or raise them there")
    if None in longest:
        raise ConfigError(f"{KEY}: must be set, for a training reserves it; {left} are left of {total}")
    wanted = sum(minutes or 0.0 for minutes in longest)
    if wanted > account.left:
        jobs = f" for all {len(longest)} jobs" if len(longest) > 1 else ""
        got = format_minutes(wanted)
        raise ConfigError(f"{KEY}: must be at most {left}{jobs}, got {got}; more is not left of {total}")


def require_minutes_to_resume(manifest: SweepManifest) -> None:
    """Raise ConfigError if the unfinished jobs of a sweep may take more than conf/team.yaml leaves."""
    trained = {run.status.experiment: run.status.training_seconds / 60 for run in known_runs() if run.status}
    limits = [(job.experiment, job.max_minutes) for job in manifest.jobs if not job.state.is_final]
    rest = [max(0.0, most - trained.get(experiment, 0.0)) for experiment, most in limits if most is not None]
    require_minutes(rest, manifest.person)


def lock_minutes() -> FileLock:
    """Return the lock that a caller holds while it counts the minutes left and puts jobs into the queue."""
    workspace.queue().mkdir(parents=True, exist_ok=True)
    return FileLock(workspace.queue() / "minutes.lock")


def format_minutes(minutes: float) -> str:
    return f"{minutes:,.1f}".removesuffix(".0")
