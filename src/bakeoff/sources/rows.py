"""CSV files of any length: rows with named columns, and rows that belong together brought together on disk."""

import csv
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.sources.paths import stays_inside

Row = tuple[int, dict[str, str]]  # the line's number, the values by column


def read_rows(root: Path, file: str, needed: Sequence[str], key: str) -> Iterator[Row]:
    """`needed` may name several spellings of a column: `label|labels`. Raises DataError."""
    path = root / file
    if not path.is_file() or not stays_inside(root, file):
        raise DataError(f"{path.as_posix()}: no such file in the dataset's folder ({key})")
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            table = csv.DictReader(text)
            columns = [column.strip().lower() for column in table.fieldnames or []]
            table.fieldnames = columns
            for name in needed:
                if not set(name.split("|")) & set(columns):
                    found = ", ".join(columns) or "none"
                    raise DataError(
                        f"{path.as_posix()}:1: lacks the column {name.replace('|', ' or ')}; columns: {found}"
                    )
            for row in table:
                yield table.line_num, {name: (row[name] or "").strip() for name in columns}
    except UnicodeDecodeError as error:
        raise DataError(f"{path.as_posix()}: not UTF-8 text, byte {error.start} cannot be read ({key})") from None
    except csv.Error as error:
        raise DataError(f"{path.as_posix()}: no CSV: {error}") from None


def together(rows: Iterable[Row], column: str) -> Iterator[tuple[str, list[Row]]]:
    """Rows of one value of a column, wherever in the file they are."""
    with closing(sqlite3.connect("")) as table:  # a temporary file of SQLite's own, gone when closed
        table.execute("CREATE TABLE rows (name TEXT, line INTEGER, content TEXT)")
        content = ((row[column], line, json.dumps(row)) for line, row in rows)
        table.executemany("INSERT INTO rows VALUES (?, ?, ?)", content)
        ordered = table.execute("SELECT name, line, content FROM rows ORDER BY name, line")
        for name, group in groupby(ordered, key=lambda row: row[0]):
            yield name, [(line, json.loads(text)) for _, line, text in group]
