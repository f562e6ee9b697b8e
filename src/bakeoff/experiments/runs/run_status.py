"""`.bakeoff/runs/<fingerprint>/status.json`: how a training is doing, replaced whole about once a second.

A job that has not started is a run that is QUEUED, in `.bakeoff/queued/<experiment>/`: its fingerprint is known only
when its records and its variant are. `models/train/state.json` is what a finished training ended in, for later stages.
{"version": 1, "state": "RUNNING", "name": "ssd_small · cosine · low", "steps_done": 1200, "seconds_left": 48.1, ...}
"""

import errno
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from bakeoff.experiments.runs.process_id import Process
from bakeoff.foundation import workspace
from bakeoff.learning.metrics.names import BY_HEADLINE

FILE = "status.json"
VERSION = 1
VALIDATION = "validation/"  # how the metrics of a validation pass begin


class State(StrEnum):
    QUEUED = "QUEUED"  # waits in a sweep or in the queue
    PREPARING = "PREPARING"  # loads, builds, compiles: before the first step
    RUNNING = "RUNNING"
    STOP_REQUESTED = "STOP_REQUESTED"  # a stop was requested, and the training has not noticed it yet
    STOPPING = "STOPPING"  # the training has noticed the request and saves its state
    STOPPED = "STOPPED"  # before its last step; there is a checkpoint, so it can train more
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"  # stopped before the first checkpoint
    TRY_AGAIN_LATER = "TRY_AGAIN_LATER"  # not started, for memory or disk is short
    STATE_UNSPECIFIED = "STATE_UNSPECIFIED"  # a file that this version cannot read

    @property
    def is_live(self) -> bool:
        """Return whether the run's process is expected to change the state."""
        return self in (State.QUEUED, State.PREPARING, State.RUNNING, State.STOP_REQUESTED, State.STOPPING)


@dataclass(frozen=True)
class Failure:
    kind: str  # one of `failures`
    message: str  # one line


@dataclass(frozen=True)
class ResourceUsage:
    """Figures of where it runs, when it was last updated."""

    resident_bytes: int | None = None  # what the process takes
    available_bytes: int | None = None  # memory that is left, by the system or a container's limit
    disk_free_bytes: int | None = None  # where work in flight is
    oom_kills: int | None = None  # processes that the kernel has ended for want of memory


@dataclass(frozen=True)
class Status:
    state: State
    fingerprint: str
    name: str  # of the variant
    process: Process
    workspace: str  # the folder that it trains in
    began: float  # seconds since 1970: its first start
    started: float  # the start of this process
    updated: float
    experiment: str | None = None  # DVC's
    run_id: str | None = None
    parent: str | None = None  # fingerprint of the run that it continues
    steps: int = 0  # steps of the whole run
    steps_done: int = 0
    phase: str | None = None
    training_seconds: float = 0.0  # interruptions apart
    spent_seconds: float | None = None  # seconds of its own processes: with lost work, without the work of a parent
    longest_seconds: float | None = None  # that it may train in all: train.max_minutes
    learning_rate: float | None = None
    examples_per_second: float | None = None
    seconds_left: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)  # the last of each
    machine: ResourceUsage = field(default_factory=ResourceUsage)
    memory_estimate_bytes: int | None = None
    ended_by: str | None = None  # steps, stop, max_minutes or early_stopping; None while it trains, or if it failed
    failure: Failure | None = None

    @property
    def spent(self) -> float:
        """Return the seconds that its processes trained; an earlier version did not count them apart."""
        return self.training_seconds if self.spent_seconds is None else self.spent_seconds

    def as_tree(self) -> dict[str, Any]:
        return {"version": VERSION} | asdict(self)


class Unreadable(ValueError):
    """No status that this version understands."""


def read_status(folder: Path) -> Status:
    try:
        tree = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Unreadable(f"has no {FILE}, so an earlier version wrote it") from None
    except (OSError, ValueError) as error:
        raise Unreadable(f"{FILE} cannot be read ({error})") from None
    return _parse(tree)


def write_status(folder: Path, status: Status) -> None:
    """Write it beside, then rename it. On a full disk over what is there, without the metrics: those blocks it has."""
    path = folder / FILE
    partial = path.with_name(f"{FILE}.partial")
    try:
        partial.write_text(_format(status.as_tree()), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not path.is_file():
            raise
        with path.open("r+b") as file:
            file.write(_format(status.as_tree() | {"metrics": {}}).encode())
            file.truncate()


def enqueue(
    experiment: str, name: str, steps: int, *, lasting: bool = False, longest_seconds: float | None = None
) -> None:
    """List a job as QUEUED as long as this process lives; a `lasting` one until it is taken off."""
    folder, now = workspace.queued() / experiment, time.time()
    folder.mkdir(parents=True, exist_ok=True)
    process = Process.nobody() if lasting else Process.current()
    write_status(folder, Status(
        State.QUEUED, experiment, name, process, str(Path.cwd()), began=now, started=now, updated=now,
        experiment=experiment, steps=steps, longest_seconds=longest_seconds,
    ))  # fmt: skip


def is_wanted(experiment: str) -> bool:
    """Return False if somebody asked not to begin it."""
    return not (workspace.queued() / experiment / workspace.STOP_FILE).exists()


def dequeue(experiment: str) -> None:
    """Take it off: its turn has come, or will not come."""
    shutil.rmtree(workspace.queued() / experiment, ignore_errors=True)


def _parse(tree: Any) -> Status:
    version = tree.pop("version", None) if isinstance(tree, dict) else None
    if version != VERSION:
        raise Unreadable(f"{FILE} is of version {version}, and this one reads {VERSION}")
    try:
        failure = tree.pop("failure")
        return Status(
            state=State(tree.pop("state")),
            process=Process(**tree.pop("process")),
            machine=ResourceUsage(**tree.pop("machine")),
            failure=None if failure is None else Failure(**failure),
            **tree,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{FILE} does not hold what it should ({error})") from None


def _format(tree: Mapping[str, Any]) -> str:
    return json.dumps(tree, indent=1, allow_nan=False) + "\n"


def headline_of(metrics: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the headline metric of the last validation pass; of an unknown task its first metric."""
    validated = {name.removeprefix(VALIDATION): value for name, value in metrics.items() if name.startswith(VALIDATION)}
    return next(((name, validated[name]) for name in (*BY_HEADLINE, *validated) if name in validated), None)
