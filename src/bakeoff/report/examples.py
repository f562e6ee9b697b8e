"""`examples.parquet`: a row for every example, with its file, truth, prediction, score and loss.

pandas.read_parquet("models/evaluation/examples.parquet").nsmallest(10, "score")   # the ten worst
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FILE = "examples.parquet"

_SIDES = {side: pa.float64() for side in ("ymin", "xmin", "ymax", "xmax")}  # pixels of the original
_ALL = {"example": pa.int64(), "file": pa.string()}
COLUMNS = {
    "boxes": _ALL
    | {
        "truth": pa.list_(pa.struct({"label": pa.string()} | _SIDES | {"found": pa.bool_()})),
        "prediction": pa.list_(
            pa.struct({"label": pa.string()} | _SIDES | {"score": pa.float64(), "error": pa.string()})
        ),
        "score": pa.float64(),
        "loss": pa.float64(),
    },
    "one label": _ALL
    | {
        "truth": pa.string(),
        "prediction": pa.string(),
        "score": pa.float64(),
        "true_score": pa.float64(),
        "rank": pa.int64(),
        "loss": pa.float64(),
    },
    "several labels": _ALL
    | {
        "truth": pa.list_(pa.string()),
        "prediction": pa.list_(pa.string()),
        "score": pa.float64(),
        "scores": pa.list_(pa.float64()),
        "loss": pa.float64(),
    },
}


def kind_of(task: str, multi_label: bool) -> str:
    return "boxes" if task == "detection" else "several labels" if multi_label else "one label"


def write_examples(folder: Path, rows: Sequence[Mapping[str, Any]], kind: str, classes: Sequence[str]) -> None:
    """`kind` is a key of COLUMNS; the classes, in the order of `scores`, are in the file's metadata."""
    named = {f"class {number}": label for number, label in enumerate(classes, start=1)}
    schema = pa.schema(COLUMNS[kind], metadata=named)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), folder / FILE, compression="zstd")
