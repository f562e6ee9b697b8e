from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bakeoff.metrics.classification import Answer, ClassificationScore
from bakeoff.metrics.detection import DetectionScore
from bakeoff.metrics.multi_label import MultiLabelScore
from bakeoff.records.manifest import Split
from bakeoff.records.record import Record
from bakeoff.report.examples import FILE, kind_of, write_examples
from bakeoff.report.originals import Originals
from coco_sets import given, true

BOX = [10.0, 10.0, 60.0, 40.0]
SCORES = {
    ("detection", False): DetectionScore(("ant", "bee"))
    .update(true((BOX, 1)), given())
    .update(true(), given((BOX, 2, 0.5))),
    ("classification", False): ClassificationScore(("ant", "bee")).update([Answer(1, 2, 0.75, 0.25, 1)]),
    ("video", True): MultiLabelScore(("ant", "bee")).update([[False, False], [True, True]], [[0.1, 0.2], [0.9, 0.4]]),
}


@pytest.mark.parametrize(("task", "several"), list(SCORES))
def test_rows_come_back_as_they_were(task: str, several: bool, tmp_path: Path) -> None:
    rows = [row | {"file": f"ü/{row['example']}.jpg"} for row in SCORES[task, several].rows()]
    write_examples(tmp_path, rows, kind_of(task, several), ["ant", "bee"])
    table = pq.read_table(tmp_path / FILE)
    assert [{key: row[key] for key in rows[0]} for row in table.to_pylist()] == rows
    assert table.schema.metadata == {b"class 1": b"ant", b"class 2": b"bee"}
    assert {"example", "file", "truth", "prediction", "score", "loss"} <= set(table.column_names)


@pytest.mark.parametrize(("task", "several"), list(SCORES))
def test_columns_have_their_types_though_there_is_no_row(task: str, several: bool, tmp_path: Path) -> None:
    write_examples(tmp_path, [], kind_of(task, several), [])
    empty = pq.read_schema(tmp_path / FILE)
    write_examples(tmp_path, SCORES[task, several].rows(), kind_of(task, several), [])
    assert empty == pq.read_schema(tmp_path / FILE)


def test_originals_have_the_names_and_bytes_of_the_records(
    write_train: Callable[..., Split], open_store: Callable[..., Any], tmp_path: Path
) -> None:
    records = [Record(f"träin/{number}", (bytes([number]) * 9,), 8, 8, labels=("a",)) for number in range(3)]
    store = open_store(tmp_path, write_train(records, ["a"]))
    originals = Originals(store.read)
    assert [originals.name(number) for number in (2, 0, 1)] == ["träin/2", "träin/0", "träin/1"]
    assert originals.images(2) == [bytes([2]) * 9]


@pytest.mark.parametrize(("frames", "shown"), [(1, [0]), (3, [0, 1, 2]), (16, [0, 5, 10, 15])])
def test_a_clip_is_shown_by_frames_evenly_apart(
    frames: int, shown: list[int], write_train: Callable[..., Split], open_store: Callable[..., Any], tmp_path: Path
) -> None:
    record = Record("clip", tuple(bytes([n]) for n in range(frames)), 8, 8, labels=("a",), frames_per_second=10.0)
    store = open_store(tmp_path, write_train([record], ["a"]))
    assert Originals(store.read).images(0) == [bytes([number]) for number in shown]
