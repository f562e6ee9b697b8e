"""How long stages, DVC and the jobs of sweeps took on this machine, from the start of a process to its end.

    {"what": "evaluate", "key": "5f0c...", "seconds": 9.31, "cores": 2, "command": "4711-93.5", "run": "a1b2..."}

The lines stand in `.bakeoff/durations.jsonl`, and `bakeoff plan` and `bakeoff sweep` count with them. `command` says
which stages ran below one `dvc repro`; what that took besides is DVC's own.
"""

import json
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bakeoff.foundation import machine, workspace
from bakeoff.foundation.files import append_line, read_json_lines

COMMAND = "BAKEOFF_COMMAND"  # an environment variable that tells a stage which command started it
DVC, JOB = "dvc", "job"  # names for the overhead of DVC and of a job, used beside the names of stages


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
    row = {"what": what, "key": key, "seconds": round(seconds, 3), "cores": machine.cores()}
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


def begin_command() -> None:
    """Give the stages that this process runs a name of the command, which they note with their durations."""
    os.environ[COMMAND] = f"{os.getpid()}-{time.time():.3f}"


def end_command(what: str) -> None:
    """Note the seconds of the command besides its stages. The key is their number, for DVC does its part for each."""
    name = os.environ.pop(COMMAND)
    below = [row.seconds for row in read_durations() if row.command == name]
    keep_duration(what, str(len(below)), max(0.0, seconds_here() - sum(below)))
