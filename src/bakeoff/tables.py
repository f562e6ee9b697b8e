"""Rows of numbers as tab-separated text, which `dvc plots`, spreadsheets and pandas all read."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_table(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One column for every key that occurs, in the order in which they first do."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
