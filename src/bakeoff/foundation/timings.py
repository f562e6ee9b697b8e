"""How long steps, stages, DVC and the jobs of sweeps took on this machine.

    {"what": "evaluate", "key": "5f0c...", "seconds": 9.31, "cores": 2, "command": "4711-93.5", "run": "a1b2..."}

The lines stand in `.bakeoff/durations.jsonl`, and `bakeoff plan` and `bakeoff sweep` count with them. `command` says
which stages ran below one `dvc repro`; what that took besides is DVC's own. All but steps count from the start of a
process to its end.
"""

import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

from bakeoff.foundation import machine, workspace
from bakeoff.foundation.files import append_line, read_json_lines

COMMAND = "BAKEOFF_COMMAND"  # an environment variable that tells a stage which command started it
DVC, JOB = "dvc", "job"  # names for the overhead of DVC and of a job, used beside the names of stages
STEP = "step"  # name for one step of a training
NEWEST = 5  # measurements of one kind whose median counts: other work on the machine makes single ones too long


@dataclass(frozen=True)
class Duration:
    what: str
    key: str
    seconds: float
    cores: int
    command: str = ""
    rest: float | None = None  # of a training: seconds without its steps and validation passes; None: no pace is known
    validation: float = 0.0  # seconds of one validation pass; the file calls it `look`
    steps: float = 0

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Duration":
        """Return the duration that a line of the file holds. A line of anything else raises one of several errors."""
        rest = None if row.get("rest") is None else float(row["rest"])
        numbers = [float(row["seconds"]), rest or 0.0, float(row.get("look", 0)), float(row.get("steps", 0))]
        if not all(0 <= number < math.inf for number in numbers) or int(row["cores"]) < 1:
            raise ValueError(row)
        seconds, _, validation, steps = numbers
        texts = {name: str(row[name]) for name in ("what", "key", "command")}
        return cls(**texts, seconds=seconds, cores=int(row["cores"]), rest=rest, validation=validation, steps=steps)


def seconds_here() -> float:
    """Return how long this process has run, with the start of Python and everything that it loaded."""
    import psutil

    return max(0.0, time.time() - float(psutil.Process().create_time()))


def keep_duration(what: str, key: str, seconds: float, **more: Any) -> None:
    """Append a duration to the file, for later plans. A disk that is full, or read only, is no failure."""
    row = {"what": what, "key": key, "seconds": float(f"{seconds:.6g}"), "cores": machine.cores()}
    row |= {"command": os.environ.get(COMMAND, "")} | more
    with suppress(OSError):
        append_line(workspace.durations(), json.dumps(row))


def read_durations() -> list[Duration]:
    """Return all durations of the file in their order, without lines that a crash cut off or that hold no time."""
    durations = list[Duration]()
    for row in read_json_lines(workspace.durations()):
        with suppress(ValueError, KeyError, TypeError, OverflowError):
            durations.append(Duration.from_row(row))
    return durations


@dataclass(frozen=True)
class Measured:
    """What was measured on this machine, for a plan of something that may use so many cores."""

    rows: Sequence[Duration]
    cores: int

    @classmethod
    def here(cls, cores: int | None = None) -> "Measured":
        """Return everything that was measured here; without a number, all cores may be used."""
        return cls(read_durations(), cores or machine.cores())

    def typical(
        self, what: str, key: str | None = None, part: Callable[[Duration], float] = lambda row: row.seconds
    ) -> float | None:
        """Return the median of the newest measurements of this kind, by one number of cores; None if there are none.

        If there are any, those by as many cores count. Else fewer cores take as much longer as they are fewer.
        """
        rows = [row for row in self.rows if row.what == what and key in (None, row.key)]
        if not rows:
            return None
        cores = self.cores if any(row.cores == self.cores for row in rows) else rows[-1].cores
        newest = [row for row in rows if row.cores == cores][-NEWEST:]
        return median(map(part, newest)) * max(1.0, cores / self.cores)


def begin_command() -> None:
    """Give the stages that this process runs a name of the command, which they note with their durations."""
    os.environ[COMMAND] = f"{os.getpid()}-{time.time():.3f}"


def end_command(what: str) -> None:
    """Note the seconds of the command besides its stages. The key is their number, for DVC does its part for each."""
    name = os.environ.pop(COMMAND)
    below = [row.seconds for row in read_durations() if row.command == name and row.what != STEP]
    keep_duration(what, str(len(below)), max(0.0, seconds_here() - sum(below)))
