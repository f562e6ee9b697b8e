"""The journal of a run that trains -> what its looks at validation saw so far."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff import workspace
from bakeoff.runs.known import known_runs
from bakeoff.runs.status import Status
from bakeoff.sweep.manifest import Look, SweepJob
from bakeoff.sweep.outcome import last_run
from bakeoff.tracking import journal

SECONDS_BETWEEN_LOOKS = 1.0
HISTORY = "history.jsonl"  # of a run that tells nobody
IN_WORK = workspace.TRAINED.with_name(f"{workspace.TRAINED.name}.partial")


@dataclass
class Seen:
    values: dict[int, float] = field(default_factory=dict)  # by step
    offset: int = 0  # in the journal
    asked: float = float("-inf")


class OnTheWay:
    """Of one number, of all trials that run."""

    def __init__(self, metric: str) -> None:
        self._metric, self._seen = metric, dict[int, Seen]()

    def looks(self, job: SweepJob) -> tuple[Look, ...]:
        """Asked as often as one likes; files are read about once a second."""
        seen, now = self._seen.setdefault(job.number, Seen()), time.monotonic()
        if now - seen.asked >= SECONDS_BETWEEN_LOOKS:
            seen.asked = now
            run = last_run(job, known_runs())
            if run is not None and run.said is not None:
                for step, values in self._read(run.said, seen):
                    if (value := number_in(values, self._metric)) is not None:
                        seen.values[step] = value
        return tuple(sorted(seen.values.items()))

    def _read(self, said: Status, seen: Seen) -> Iterator[tuple[int, Mapping[str, Any]]]:
        folder = workspace.journals() / str(said.run_id)
        if not (folder / journal.FILE).is_file():
            yield from _history(Path(said.workspace) / IN_WORK / HISTORY)
            return
        for entry, end in journal.entries(folder, seen.offset):
            seen.offset = end
            if entry and entry["kind"] == "metrics":
                yield entry["step"], entry["values"]


def number_in(values: Mapping[str, Any], metric: str) -> float | None:
    value = values.get(metric)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _history(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """As far as it is written; the last line may not be whole."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            values = json.loads(line)
            yield values["step"], values
