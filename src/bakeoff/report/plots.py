"""`plots/<name>.tsv`: the tables that `dvc plots` draws, some in a folder of their own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.tables import write_table

FOLDER = "plots"


def write_plots(folder: Path, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """A table without rows is left out: `dvc plots` cannot draw it."""
    (folder / FOLDER).mkdir()
    for name, rows in tables.items():
        if rows:
            path = folder / FOLDER / f"{name}.tsv"
            path.parent.mkdir(exist_ok=True)
            write_table(path, rows)
