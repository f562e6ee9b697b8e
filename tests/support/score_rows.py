"""What `examples.parquet` would hold of a score, line by line."""

from typing import Any

from bakeoff.evaluation.examples_parquet import COLUMNS, make_table


def rows_of(score: Any) -> list[dict[str, Any]]:
    columns, numbers = score.columns(), range(len(score.worst_first()))
    [kind] = [kind for kind, known in COLUMNS.items() if {"example", "file", *columns} == set(known)]
    return make_table(columns, numbers, [str(number) for number in numbers], kind, ()).drop_columns("file").to_pylist()
