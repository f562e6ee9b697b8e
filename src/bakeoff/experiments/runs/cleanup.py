"""Old work under `.bakeoff/`: what of it may go, and why the rest stays; and which results came from which run.

`models/train/state.json` holds the fingerprint. DVC has that file in its cache, under the digest in dvc.lock.
"""

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from bakeoff.experiments.runs.list_runs import KnownRun
from bakeoff.experiments.runs.minutes_used import keep_spent
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import dvc, git, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import bytes_below
from bakeoff.learning.checkpoints.trained_state import STATE, TrainedState
from bakeoff.tracking.journal.journal_folder import is_held
from bakeoff.tracking.results.results import parse_yaml, trained_digest

SECONDS_OF = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
PARTIAL, LOCKED = "*.partial", ".lock"
SHELVES = {  # folders of what can be fetched or built again; a lock beside each says that it is being built
    "fetched weights": workspace.fetched,
    "records of other data, judged on": workspace.judged_records,
    "records of other data, of a sweep": workspace.choices,
    "answers of teachers": workspace.answers,
}
WRITTEN_NOW = 3600.0  # seconds; a younger partial file may still be in the making
LOCK = "dvc.lock"
WORKSPACE = "workspace"


@dataclass(frozen=True)
class CleanupRules:
    """All that are given must hold for a run to go."""

    keep: int = 1  # so many of the newest stay
    older_than: float = 0.0  # seconds since its last update
    states: tuple[State, ...] = ()  # none: finished, or nothing there to resume from

    def why_stays(self, run: KnownRun, rank: int) -> str | None:
        """Return why a run stays that is `rank` from the newest, from 0; None if it may go."""
        if run.state.is_live:
            return "is under way"
        if self.states and run.state not in self.states:
            return "in another state"
        if not self.states and run.state != State.SUCCEEDED and run.can_resume():
            return "can resume"
        if rank < self.keep:
            return "the newest" if self.keep == 1 else f"of the {self.keep} newest"
        return "too young" if time.time() - run.updated < self.older_than else None


@dataclass(frozen=True)
class Leftover:
    path: Path
    what: str
    bytes: int
    updated: float  # seconds since 1970
    run: KnownRun | None = None
    named_by: tuple[str, ...] = ()
    stays: str | None = None  # why

    def remove(self) -> bool:
        """Return whether it could be: a process that trains holds the lock of its run."""
        if self.run is None:
            shutil.rmtree(self.path) if self.path.is_dir() else self.path.unlink(missing_ok=True)
            return True
        try:
            with FileLock(self.path / "lock", timeout=0):
                keep_spent(self.run)
                for inner in self.path.iterdir():
                    if inner.name != "lock":
                        shutil.rmtree(inner) if inner.is_dir() else inner.unlink()
        except Timeout:
            return False
        shutil.rmtree(self.path)
        return True


def old_runs(runs: Sequence[KnownRun], rules: CleanupRules, named_by: Mapping[str, Sequence[str]]) -> list[Leftover]:
    """Return all known runs, the newest first. The run behind the workspace's results is removed by its name only."""
    old = []
    for rank, run in enumerate(sorted(runs, key=lambda run: -run.updated)):
        names = tuple(named_by.get(run.fingerprint, ()))
        stays = rules.why_stays(run, rank) or _why_needed(run, runs)
        old.append(_leftover(run, names, stays or ("models/train is its" if WORKSPACE in names else None)))
    return old


def these_runs(
    chosen: Sequence[KnownRun], runs: Sequence[KnownRun], named_by: Mapping[str, Sequence[str]]
) -> list[Leftover]:
    """Return the chosen runs, whatever the rules are. A run under way stays, and so does one that another of all `runs`
    needs.
    """
    others = [run for run in runs if run not in chosen]
    stays = ("is under way" if run.state.is_live else _why_needed(run, others) for run in chosen)
    return [
        _leftover(run, tuple(named_by.get(run.fingerprint, ())), why) for run, why in zip(chosen, stays, strict=True)
    ]


def _why_needed(run: KnownRun, others: Sequence[KnownRun]) -> str | None:
    """Return why a run must stay. A run that continues another reads it whenever it resumes."""
    children = [other for other in others if other.status and other.status.parent == run.fingerprint]
    unfinished = [child.short for child in children if child.state != State.SUCCEEDED]
    return f"{', '.join(unfinished)} continues it" if unfinished else None


def other_leftovers(older_than: float) -> Iterator[Leftover]:
    """Yield weights and records that can be fetched or built again, and files that a kill left half written."""
    now = time.time()
    for what, shelf in SHELVES.items():
        for path in sorted(shelf().iterdir()) if shelf().is_dir() else []:
            if path.suffix == LOCKED:
                continue
            updated = path.stat().st_mtime
            stays = "too young" if now - updated < older_than else None
            if is_held_file(path.with_name(path.name.removesuffix(".partial") + LOCKED)):
                stays = "is being built"
            yield Leftover(path, what, bytes_below(path), updated, stays=stays)
    for path in sorted((workspace.main_workspace() / workspace.IN_FLIGHT).rglob(PARTIAL)):
        stat = path.stat()
        if path.is_file() and now - stat.st_mtime >= WRITTEN_NOW:
            yield Leftover(path, "half written", stat.st_size, stat.st_mtime)


def is_held_file(lock: Path) -> bool:
    """Return whether a process holds a lock. The file of a lock that nobody ever held is not made."""
    return lock.is_file() and is_held(FileLock(lock))


def seconds_of(age: str) -> float:
    """Return the seconds of `30d`, `12h`, `2w`, `90m`."""
    match = re.fullmatch(r"([0-9]+)([mhdw])", age)
    if not match:
        raise WorkspaceError(f"--older-than: must be a number and m, h, d or w, such as 30d, got {age!r}")
    return int(match[1]) * SECONDS_OF[match[2]]


def _leftover(run: KnownRun, names: tuple[str, ...], stays: str | None) -> Leftover:
    what = run.status.name if run.status else "of another version"
    return Leftover(run.folder, what, bytes_below(run.folder), run.updated, run, names, stays)


def named_by() -> dict[str, list[str]]:
    """Return the workspace, branches, tags and experiments whose weights a run trained, by fingerprint. As far as DVC
    has them."""
    names: dict[str, list[str]] = {}
    seen: dict[str, str | None] = {}  # by digest of an output, for many commits have the same
    if (own := _fingerprint_in(workspace.TRAINED / STATE)) is not None:
        names[own] = [WORKSPACE]
    for name, lock in git.file_at_refs(LOCK).items():
        digest = trained_digest(parse_yaml(lock)) or ""
        if digest not in seen:
            seen[digest] = _fingerprint_in(dvc.cached_file((dvc.cached_folder(digest) or {}).get(STATE, "")))
        if (fingerprint := seen[digest]) is not None:
            names.setdefault(fingerprint, []).append(name)
    return names


def _fingerprint_in(state: Path | None) -> str | None:
    """Return None for a file that is not there, or holds something else."""
    return TrainedState.at(state).lineage.fingerprint if state else None
