"""`examples.parquet`: a row for every example, with its file, truth, prediction, score and loss.

pandas.read_parquet("models/evaluation/examples.parquet").nsmallest(10, "score")   # the ten worst
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.learning.metrics.score import Column, Texts

FILE = "examples.parquet"
FACT = "fact."  # before the name of a column that says what an example is
METRICS, PICTURE = "metrics.json", "pictures.jpg"  # what stands beside it

_SIDES = {side: pa.float64() for side in ("ymin", "xmin", "ymax", "xmax")}  # pixels of the original
_ALL = {"example": pa.int64(), "file": pa.string()}
COLUMNS = {
    "boxes": _ALL | {
        "truth": pa.list_(pa.struct({"label": pa.string()} | _SIDES | {"found": pa.bool_()})),
        "prediction": pa.list_(
            pa.struct({"label": pa.string()} | _SIDES | {"score": pa.float64(), "error": pa.string()})
        ),
        "score": pa.float64(),
        **dict.fromkeys(("loss", "loss_classes", "loss_boxes", "loss_divisor"), pa.float64()),
    },
    "one label": _ALL | {
        "truth": pa.string(), "prediction": pa.string(), "score": pa.float64(), "true_score": pa.float64(),
        "rank": pa.int64(), "loss": pa.float64(),
    },
    "several labels": _ALL | {
        "truth": pa.list_(pa.string()), "prediction": pa.list_(pa.string()), "score": pa.float64(),
        "scores": pa.list_(pa.float64()), "loss": pa.float64(),
    },
}  # fmt: skip


def choose_kind(task: str, multi_label: bool) -> str:
    return "boxes" if task == "detection" else "several labels" if multi_label else "one label"


def make_table(
    columns: Mapping[str, Column], judged: Sequence[int], files: Sequence[str], kind: str, classes: Sequence[str]
) -> pa.Table:
    """`columns` are a score's, `judged` the numbers of its examples, `kind` a key of COLUMNS; the classes, in the order
    of `scores`, are in the table's metadata."""
    whole = {**columns, "example": np.array(judged, np.int64), "file": Texts(files, np.arange(len(files)))}
    schema = pa.schema(COLUMNS[kind], metadata={f"class {at}": label for at, label in enumerate(classes, start=1)})
    arrays = [_array(whole[field.name], field.type, len(judged)) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def add_facts(table: pa.Table, facts: Mapping[str, np.ndarray]) -> pa.Table:
    """Return the table with a column for each fact, such as `fact.brightness`; texts are empty where one lacks."""
    for name, values in facts.items():
        is_number = values.dtype.kind == "f"
        column = _numbers(values) if is_number else _encoded_texts([text.encode() for text in values.tolist()])
        table = table.append_column(f"{FACT}{name}", column)
    return table


def write_examples(folder: Path, table: pa.Table) -> None:
    pq.write_table(table, folder / FILE, compression="zstd")


def read_row(table: pa.Table, place: int) -> dict[str, Any]:
    [row] = table.slice(place, 1).to_pylist()
    return row


def _array(column: Column, kind: pa.DataType, length: int) -> pa.Array:
    """Return the column, built of buffers: `pa.array` loads Pandas and `take` all of Arrow's functions, for a while."""
    if column is None:
        return pa.nulls(length, kind)
    if isinstance(column, Texts):
        names, which = [name.encode() for name in column.names], column.which.tolist()
        return _encoded_texts([names[number] for number in which])
    if isinstance(column, np.ndarray):
        return _numbers(column)
    values, ends = column.values, np.concatenate([[0], np.cumsum(column.counts)])
    total = int(ends[-1])
    if isinstance(values, Mapping):
        parts = [_array(values[field.name], field.type, total) for field in kind.value_type]
        inner: pa.Array = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
    else:
        inner = _array(values, kind.value_type, total)
    return pa.ListArray.from_arrays(_numbers(ends.astype(np.int32)), inner)


def _numbers(values: np.ndarray) -> pa.Array:
    """Return numbers of 32 or 64 bits, or true and false, of which Arrow keeps eight in a byte."""
    is_bool = values.dtype == bool
    plain = np.packbits(values, bitorder="little") if is_bool else np.ascontiguousarray(values)
    kinds = {np.bool_: pa.bool_(), np.int32: pa.int32(), np.int64: pa.int64(), np.float64: pa.float64()}
    return pa.Array.from_buffers(kinds[values.dtype.type], len(values), [None, pa.py_buffer(plain)])


def _encoded_texts(texts: Sequence[bytes]) -> pa.Array:
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(texts)))
