"""`train.continue_from`: the last checkpoint of another run as the first of this one.

The other may have fewer steps, another time limit, other rates; what both have done up to its last step must be the
same, so that one run of 2,000 steps equals 1,000 and 1,000 more.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.files import hash_file, load_json, write_whole
from bakeoff.foundation.formatting import format_names
from bakeoff.learning.checkpoints.fingerprint import LENGTH
from bakeoff.learning.checkpoints.run_folder import IDENTITY, RunFolder, SavedState, find_newest_whole, phase_names
from bakeoff.learning.checkpoints.shared_phases import take_earlier_phases
from bakeoff.learning.checkpoints.trained_state import STATE, TakenFrom, read_state
from bakeoff.learning.plan.train_settings import Train

KEY = "train.continue_from"
SHOWN = 5
# What has no say in the steps that were taken, or only through what was done, which comes along.
FREE = (
    "train.steps", "train.epochs", "train.init", "train.max_minutes", "train.early_stopping", "train.best_by",
    "train.log_every_steps", "train.validate_every_steps", "train.validate_every_epochs", "train.validate_examples",
    "train.round_up_steps", "derived.phases.*.steps",
    "train.phases.*.steps", "train.phases.*.epochs", "first_weights", "parent",
)  # fmt: skip
# What may be another from here on, though it was not before; it is reported.
REPORTED_KEYS = ("lr", "train.threads", "train.phases.*.lr", "derived.phases.*.rate_factor", "code", "versions")


@dataclass(frozen=True)
class Parent:
    """A run that another one continues."""

    folder: Path
    digest: str  # of its last checkpoint

    @property
    def fingerprint(self) -> str:
        return self.folder.name


def write_identity(identity: Mapping[str, Any], folder: Path) -> None:
    """Into a run's folder: what its fingerprint is a hash of."""
    write_whole(folder / IDENTITY, json.dumps(identity, indent=1) + "\n", lasting=True)


def parent_of(train: Train, runs: Path, own_id: Callable[[str], str | None] = lambda run_id: None) -> Parent | None:
    """`runs` is the folder of all work in flight; `own_id` gives our id of a run for MLflow's."""
    if train.continue_from is None:
        return None
    folder = _folder_of(train.continue_from, runs, own_id)
    newest = find_newest_whole(folder)
    if newest is None or not (folder / IDENTITY).is_file():
        raise _nothing_in(folder)
    return Parent(folder, hash_file(newest[1]))


def taken_up(
    parent: Parent | None, work: RunFolder, train: Train, identity: Mapping[str, Any], ends: list[int]
) -> tuple[SavedState, list[str]]:
    """Where a run resumes, and what is to be reported of that.

    In its own work; else in its parent's; else where the phases end that another run has trained alike; else nowhere.
    """
    saved = work.newest()
    if saved.arrays is not None:
        return saved, []
    if parent is not None:
        remarks = hand_over(parent, work, train, identity, ends)
    else:
        remarks = [] if train.fresh else take_earlier_phases(work, identity)
    return work.newest() if remarks or parent else saved, remarks


def hand_over(parent: Parent, work: RunFolder, train: Train, identity: Mapping[str, Any], ends: list[int]) -> list[str]:
    """Into `work`, which has nothing yet; `ends` are the last steps of its phases. Return what is to be reported."""
    lock = FileLock(parent.folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise WorkspaceError(
            f"{KEY}: {parent.fingerprint} is being trained right now; stop it or wait for it"
        ) from None
    try:
        other = RunFolder(parent.folder, phase_names(parent.folder))
        saved = other.newest()
        if saved.arrays is None:
            raise _nothing_in(parent.folder)
        remarks = _require_same_past(parent, identity, saved.position.phase)
        _require_something_to_do(parent, saved, train, ends)
        work.adopt(other, _opened_again(saved, parent, ends))
    finally:
        lock.release()
    return remarks


def _opened_again(saved: SavedState, parent: Parent, ends: list[int]) -> SavedState:
    """As this run would stand there: whatever ended the other one ends it no more."""
    at, phases = saved.position, list(saved.state.phases)
    if at.step < ends[at.phase]:
        phases[at.phase] = replace(phases[at.phase], ended_by=None)
    parents = (*saved.state.parents, TakenFrom(parent.fingerprint, at.step))
    return SavedState(at, replace(saved.state, phases=tuple(phases), parents=parents), saved.arrays)


def _require_same_past(parent: Parent, identity: Mapping[str, Any], phase: int) -> list[str]:
    try:
        there = dict(_flat(load_json(parent.folder / IDENTITY)))
    except ValueError:  # a loss of power left it empty
        raise _nothing_in(parent.folder, f"{IDENTITY} that can be read") from None
    here = dict(_flat(json.loads(json.dumps(identity))))
    differ = [
        key
        for key in sorted(there.keys() | here.keys())
        if there.get(key) != here.get(key) and not _is_one_of(key, FREE) and not _is_of_a_later_phase(key, phase)
    ]
    reported = [key for key in differ if _is_one_of(key, REPORTED_KEYS)]
    refused = [f"{key} {there.get(key)!r}, here {here.get(key)!r}" for key in differ if key not in reported]
    if refused:
        raise ConfigError(
            f"{KEY}: {parent.fingerprint} is another training: it has {format_names(refused, SHOWN, '; ')}; "
            "set these as they were there, or start from its weights with train.init.weights"
        )
    return [f"{key}: {here.get(key)!r} from here on, was {there.get(key)!r}" for key in reported]


def _nothing_in(folder: Path, what: str = "checkpoint to resume from") -> ConfigError:
    remedy = "train its variant again, or train this one without continue_from"
    return ConfigError(f"{KEY}: {folder.as_posix()} holds no {what}; {remedy}")


def _require_something_to_do(parent: Parent, saved: SavedState, train: Train, ends: list[int]) -> None:
    at = saved.position
    if at.phase >= len(ends) or at.step > ends[at.phase] or at.step >= ends[-1]:
        raise ConfigError(
            f"{KEY}: {parent.fingerprint} has done {at.step:,} steps, this variant is to have {ends[-1]:,}; "
            "raise train.steps (or train.epochs)"
        )
    waited = saved.state.phases[at.phase].patience.waited
    if at.step < ends[at.phase] and 0 < train.early_stopping.patience <= waited:
        raise ConfigError(
            f"{KEY}: {parent.fingerprint} was no better for {waited} validation passes; "
            "raise train.early_stopping.patience"
        )
    if train.max_minutes is not None and saved.state.seconds >= 60 * train.max_minutes:
        raise ConfigError(
            f"{KEY}: {parent.fingerprint} has trained for {saved.state.seconds / 60:.1f} minutes; "
            "raise train.max_minutes"
        )


def _folder_of(name: str, runs: Path, own_id: Callable[[str], str | None]) -> Path:
    given = Path(name).expanduser()
    if (given / IDENTITY).is_file():
        return given
    if (given / STATE).is_file():
        fingerprint = read_state(given).lineage.fingerprint
        own_clone = given.resolve().parents[1] / runs.parent.name / runs.name
        own = [place / fingerprint for place in (runs, own_clone)] if fingerprint else []
        folders = [folder for folder in own if folder.is_dir()][:1]
    elif re.fullmatch(r"[0-9a-f]{32}", name):
        ids = (name, own_id(name))
        folders = [file.parent for file in runs.glob("*/run") if file.read_text("utf-8", "replace") in ids]
    elif re.fullmatch(rf"[0-9a-f]{{1,{LENGTH}}}", name):
        folders = sorted(runs.glob(f"{name}*"))
    else:
        folders = []
    if len(folders) == 1:
        return folders[0]
    there = ", ".join(sorted(folder.name for folder in runs.glob("*"))) or "(none)"
    what = f"{len(folders)} runs begin with {name!r}" if folders else f"no work in flight of a run {name!r}"
    raise ConfigError(
        f"{KEY}: {what}; give a fingerprint or its beginning, a run's folder in {runs.as_posix()}, models/train of "
        f"another clone or a run's id (`bakeoff.run` in MLflow); `bakeoff continue RUN --fetch` brings what MLflow has "
        f"of a run. Of these there is work: {there}"
    )


def _flat(tree: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else None
    if pairs is None or not tree:
        yield key, tree
        return
    for name, value in pairs:
        yield from _flat(value, f"{key}.{name}" if key else str(name))


def _is_one_of(key: str, names: tuple[str, ...]) -> bool:
    plain = re.sub(r"\.\d+(\.|$)", r".*\1", key)
    return any(plain == name or plain.startswith(f"{name}.") for name in names)


def _is_of_a_later_phase(key: str, phase: int) -> bool:
    number = re.match(r"(?:derived|train)\.phases\.(\d+)", key)
    return number is not None and int(number[1]) > phase
