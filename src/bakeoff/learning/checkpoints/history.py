"""`history.jsonl`: one line per logged step, in order; in a run of phases with the name of the phase.

    {"step": 20, "train/loss": 1.93, "train/loss_boxes": 1.2, "learning_rate": 0.0008}
    {"step": 300, "phase": "head", "validation/mAP_50": 0.41}

`write_plots` turns it into the tables that `dvc plots` draws.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.foundation.files import write_table

FILE = "history.jsonl"
CLOCK = ("examples_per_second",)  # keys that differ between two equal runs


@dataclass(frozen=True)
class LogLine:
    """What was logged of a step, or of a validation after it; numbers have six digits."""

    step: int
    values: Mapping[str, float]
    phase: str | None = None  # its name, in a run of several phases

    @classmethod
    def of(cls, step: int, values: Mapping[str, float], phase: str | None) -> "LogLine":
        return cls(step, {key: float(f"{value:.6g}") for key, value in values.items()}, phase)

    @classmethod
    def parse(cls, text: str) -> "LogLine":
        values = json.loads(text)
        return cls(values.pop("step"), phase=values.pop("phase", None), values=values)

    def as_text(self, *, with_clock: bool = True) -> str:
        """Return a line of JSON; without what the clock decided, equal runs have equal lines."""
        head: dict[str, Any] = {"step": self.step} | ({"phase": self.phase} if self.phase else {})
        return json.dumps(head | {key: self.values[key] for key in self.values if with_clock or key not in CLOCK})

    @property
    def is_validation(self) -> bool:
        return "train/loss" not in self.values

    def metrics(self, phases: Sequence[str] = ()) -> dict[str, float]:
        """Return the numbers; of a line that has a rate, its phase as a number among `phases`, from 1, too."""
        if self.phase in phases and "learning_rate" in self.values:
            return {**self.values, "phase": phases.index(self.phase) + 1.0}
        return dict(self.values)


def read_history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text(encoding="utf-8").splitlines()]


def write_plots(folder: Path, headline: str) -> None:
    """`plots/training.tsv`, `plots/validation.tsv`: a row a step, a column a metric; the headline again as `score`."""
    history = read_history(folder)
    (folder / "plots").mkdir()
    write_table(folder / "plots" / "training.tsv", _columns(history, ("train/", "learning_rate")))
    validation = _columns(history, ("validation/",))
    write_table(folder / "plots" / "validation.tsv", (row | {"score": row.get(headline, "")} for row in validation))


def _columns(history: list[dict[str, Any]], wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows that have any of the wanted metrics, with short names."""
    rows = [{key.rpartition("/")[2]: row[key] for key in row if key.startswith(("step", *wanted))} for row in history]
    return [row for row in rows if len(row) > 1]
