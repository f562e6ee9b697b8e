"""`history.jsonl`: one line per logged step, in order.

    {"step": 20, "train/loss": 1.93, "train/loss_boxes": 1.2, "learning_rate": 0.0008}
    {"step": 300, "validation/mAP_50": 0.41}

`write_plots` turns it into the tables that `dvc plots` draws.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from bakeoff.tables import write_table

FILE = "history.jsonl"


class History:
    def __init__(self, folder: Path) -> None:
        self._file = (folder / FILE).open("w", encoding="utf-8")

    def add(self, step: int, values: Mapping[str, float]) -> None:
        self._file.write(
            json.dumps({"step": step} | {key: float(f"{value:.6g}") for key, value in values.items()}) + "\n"
        )
        self._file.flush()

    def __enter__(self) -> "History":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def read_history(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / FILE).read_text(encoding="utf-8").splitlines()]


def write_plots(folder: Path) -> None:
    """`plots/training.tsv` and `plots/validation.tsv`: a row a step, a column a metric."""
    history = read_history(folder)
    (folder / "plots").mkdir()
    for name, wanted in {"training": ("train/", "learning_rate"), "validation": ("validation/",)}.items():
        rows = [
            {key.rpartition("/")[2]: row[key] for key in row if key.startswith(("step", *wanted))} for row in history
        ]
        write_table(folder / "plots" / f"{name}.tsv", (row for row in rows if len(row) > 1))
