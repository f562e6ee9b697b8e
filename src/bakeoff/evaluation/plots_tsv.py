"""`plots/<name>.tsv`: the tables that `dvc plots` draws, some in a folder of their own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.foundation.files import write_table

FOLDER = "plots"
BY_CLASS = "precision_recall_by_class"
# All that dvc.yaml names. DVC complains of a file that is missing, and passes over one that has a heading only; so a
# task without a plot, and an evaluation with nothing to plot, leave its heading.
HEADINGS = {
    "precision_recall": ("recall", "precision"),
    f"{BY_CLASS}/none": ("recall", "precision"),
    "threshold": ("threshold", "f1", "precision", "recall"),
    "errors": ("kind", "count"),
    "calibration": ("probability", "accuracy", "examples"),
    "confusion": ("actual", "predicted"),
}


def write_plots(folder: Path, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    for name, rows in tables.items():
        if rows:
            write_table(_place(folder, name), rows)
    by_class = any(name.startswith(BY_CLASS) for name in tables)
    for name, heading in HEADINGS.items():
        if not tables.get(name) and not (by_class and name.startswith(BY_CLASS)):
            _place(folder, name).write_text("\t".join(heading) + "\n", encoding="utf-8")


def _place(folder: Path, name: str) -> Path:
    path = folder / FOLDER / f"{name}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
