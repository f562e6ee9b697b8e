"""`history.jsonl`: one line per logged step, in order; in a run of phases with the name of the phase.

    {"step": 20, "train/loss": 1.93, "train/loss_boxes": 1.2, "learning_rate": 0.0008}
    {"step": 300, "phase": "head", "validation/mAP_50": 0.41}

`write_plots` turns it into the tables that `dvc plots` draws.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.files import write_table

FILE = "history.jsonl"


class History:
    """A file that can be read while it is written; `lines` is what it holds."""

    def __init__(
        self, folder: Path, earlier: Sequence[str] = (), told: Callable[..., object] = lambda *line: None
    ) -> None:
        """`told` gets the step, the numbers and the phase of every line to come."""
        self.lines, self._told = list(earlier), told
        self.phase: str | None = None  # of the lines to come
        self._file = (folder / FILE).open("w", encoding="utf-8")
        self._file.write("".join(f"{line}\n" for line in earlier))
        self._file.flush()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        head: dict[str, Any] = {"step": step} | ({"phase": self.phase} if self.phase else {})
        self.lines.append(json.dumps(head | {key: float(f"{value:.6g}") for key, value in values.items()}))
        self._file.write(f"{self.lines[-1]}\n")
        self._file.flush()
        self._told(step, values, self.phase)

    def __enter__(self) -> "History":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def read_history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text(encoding="utf-8").splitlines()]


def metrics_of(line: str, phases: Sequence[str] = ()) -> tuple[int, dict[str, float]]:
    """Step and numbers of a line; of one that has a rate, its phase as a number among `phases`, from 1."""
    values = json.loads(line)
    step, phase = values.pop("step"), values.pop("phase", None)
    if phase in phases and "learning_rate" in values:
        values["phase"] = phases.index(phase) + 1.0
    return step, values


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
