"""`models/train/state.json`: how a training ended, as a value that is read and written here alone.

    {"state": "SUCCEEDED", "ended_by": "steps", "step": 1000, "best_metric": "mAP_50", "best_value": 0.86, ...}

What the clock and the machine decided is not in it, so that the file repeats to the byte. Earlier versions wrote some
of that into the file, and lack keys that came later. A value that is missing or of a wrong kind is None or empty.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import load_json, read_json
from bakeoff.foundation.plain_values import load_fields
from bakeoff.learning.plan.run_length import format_done

STATE = "state.json"
SUCCEEDED, STOPPED = "SUCCEEDED", "STOPPED"  # the states; a training that somebody stopped can resume


@dataclass(frozen=True)
class TakenFrom:
    """Another run, and how many of its steps were taken over from it."""

    fingerprint: str = ""
    step: int = 0


@dataclass(frozen=True)
class TrainedPhase:
    """How a phase of a training ended."""

    name: str = ""
    first_step: int = 0
    steps: int = 0
    best_value: float | None = None
    best_step: int = 0
    ended_by: str | None = None


@dataclass(frozen=True)
class TrainedLineage:
    """Which run it was, and whose weights it started from; all is empty in files of early versions."""

    fingerprint: str | None = None
    started_from: str | None = None  # what the variant calls the first weights
    first_weights: str | None = None  # their digest
    parents: tuple[TakenFrom, ...] = ()  # the runs that it continues
    starts: tuple[Mapping[str, Any], ...] | None = None  # None: the version kept no more than `started_from`
    own: Mapping[str, Any] | None = None  # what the run adds for those that start from its weights
    trained_from: str | None = None  # `starts` in words
    licences: tuple[str, ...] = ()


def find_published(
    starts: Iterable[Mapping[str, Any]], own: Mapping[str, Any] | None = None
) -> list[Mapping[str, Any]]:
    """Return all weights of others that a run has learnt from: its starts, and those of its teachers and theirs."""
    found: list[Mapping[str, Any]] = []
    for one in [*starts, *([own] if own else [])]:
        if "run" not in one:
            found.append(one)
        elif teacher := one.get("teacher"):
            found += find_published(teacher["starts"], teacher)
    return [one for place, one in enumerate(found) if one not in found[:place]]


@dataclass(frozen=True)
class TrainedState:
    """How a training ended. `TrainedState()` stands for one of which nothing is known."""

    state: str | None = None
    ended_by: str | None = None
    step: int | None = None  # done
    best_metric: str | None = None
    best_value: float | None = None
    best_step: int | None = None
    phases: tuple[TrainedPhase, ...] = ()  # all that have started
    steps: int = 0  # of the whole training
    parameters: int | None = None
    weights_sha256: str | None = None  # of the final weights themselves, whatever file holds them
    files: Mapping[str, str] = field(default_factory=dict)  # the SHA-256 of each file of weights
    classes: tuple[str, ...] = ()
    bad_records: Mapping[str, int] = field(default_factory=dict)  # damaged records that were left out, by split
    lineage: TrainedLineage = field(default_factory=TrainedLineage)
    measured: Mapping[str, Any] = field(default_factory=dict)  # what earlier versions wrote besides: run_id, seconds, …

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "TrainedState":
        """Return what a file of any version holds."""
        own = {one.name for one in fields(cls)}
        return load_fields(
            cls, tree, strict=False, measured={key: value for key, value in tree.items() if key not in own}
        )

    @classmethod
    def at(cls, path: Path) -> "TrainedState":
        """Return how a training ended, by its file; an unknown end if that is not there, or damaged."""
        return cls.from_tree(read_json(path))

    @property
    def is_known(self) -> bool:
        return self != TrainedState()

    @property
    def is_stopped(self) -> bool:
        return self.state == STOPPED

    @property
    def last_step(self) -> int:
        """Return the step of the last weights. Files of early versions hold `steps` alone."""
        return self.steps if self.step is None else self.step

    def step_of(self, weights: str) -> int:
        """Return the step of the `best` or the `final` weights. Without a validation pass the best are the last."""
        return self.best_step or self.last_step if weights == "best" else self.last_step

    def as_text(self) -> str:
        """Return what the file holds."""
        tree = asdict(self)
        del tree["measured"]
        return json.dumps(tree, indent=1) + "\n"


def write_state(folder: Path, state: TrainedState) -> None:
    (folder / STATE).write_text(state.as_text(), encoding="utf-8")


def read_state(folder: Path) -> TrainedState:
    """Return that of a finished training; refuse a file that is missing or damaged."""
    path = folder / STATE
    if not path.is_file():
        raise DataError(f"{path.as_posix()}: missing, so training never finished; run `dvc repro train`")
    try:
        return TrainedState.from_tree(load_json(path))
    except ValueError as error:
        raise DataError(f"{path.as_posix()}: cannot be read ({error}); run `dvc repro --force train`") from None


def describe_end(state: TrainedState, measured: Mapping[str, Any]) -> str:
    """Return one line for whoever watched the training."""
    best = "undefined" if state.best_value is None else f"{state.best_value:.3f} at step {state.best_step:,}"
    peak = measured.get("peak_memory_bytes")
    memory = "unknown" if peak is None else f"{peak / 1e9:.1f} GB"
    memory += f" (estimated {measured['memory_estimate_bytes'] / 1e9:.1f})"
    if measured.get("peak_device_bytes"):
        estimate = measured["device_estimate_bytes"]
        memory += f", of the device {measured['peak_device_bytes'] / 1e9:.1f} GB"
        memory += f" (estimated {estimate / 1e9:.1f})" if estimate else ""
    done = format_done(state.last_step, state.steps) if state.last_step < state.steps else f"{state.steps:,}"
    length = f"{done} steps in {measured['seconds']:.0f} s"
    bad = "".join(f"; {count} damaged {split} records left out" for split, count in state.bad_records.items())
    return f"{length}; best {state.best_metric} {best}; peak memory {memory}{bad}"
