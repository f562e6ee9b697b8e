import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.evaluation.examples_parquet import FILE, choose_kind, make_table, read_row, write_examples
from bakeoff.evaluation.gallery import Originals
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from support.coco_sets import given, true

BOX = [10.0, 10.0, 60.0, 40.0]
SIDES = {"ymin": 10.0, "xmin": 10.0, "ymax": 60.0, "xmax": 40.0}
CLASSES = ("ant", "bée")
UNCOUNTED = dict.fromkeys(("loss", "loss_classes", "loss_boxes", "loss_divisor"))
DETECTIONS = DetectionScore(CLASSES).update(true((BOX, 1)), given()).update(true(), given((BOX, 2, 0.5)))
ANSWERS = ClassificationScore(CLASSES).update([Answer(1, 2, 0.75, 0.25, 1)])
LABELS = MultiLabelScore(CLASSES).update([[False, False], [True, True]], [[0.0, 0.5], [1.0, 0.25]])
CASES = [("detection", False, DETECTIONS), ("classification", False, ANSWERS), ("video", True, LABELS)]
ROWS = {
    "boxes": [
        {"truth": [{"label": "ant", **SIDES, "found": False}], "prediction": [], "score": 0.0, **UNCOUNTED},
        {
            "truth": [],
            "prediction": [{"label": "bée", **SIDES, "score": 0.5, "error": ""}],
            "score": 1.0,  # nothing scores enough to be given, and nothing is there
            **UNCOUNTED,
        },
    ],
    "one label": [
        {"truth": "ant", "prediction": "bée", "score": 0.75, "true_score": 0.25, "rank": 1, "loss": math.log(4)}
    ],
    "several labels": [
        {"truth": [], "prediction": ["bée"], "score": 0.75, "scores": [0.0, 0.5], "loss": math.log(2) / 2},
        {"truth": [*CLASSES], "prediction": ["ant"], "score": 0.625, "scores": [1.0, 0.25], "loss": math.log(4) / 2},
    ],
}


def table(task: str, several: bool, score: Any) -> pa.Table:
    numbers = range(len(score.worst_first()))
    return make_table(score.columns(), numbers, [f"ü/{at}.jpg" for at in numbers], choose_kind(task, several), CLASSES)


@pytest.mark.parametrize(("task", "several", "score"), CASES, ids=ROWS)
def test_examples_are_a_row_each_and_the_file_says_the_classes(
    task: str, several: bool, score: Any, tmp_path: Path
) -> None:
    write_examples(tmp_path, table(task, several, score))
    read = pq.read_table(tmp_path / FILE)
    expected = [
        {"example": number, "file": f"ü/{number}.jpg"} | row
        for number, row in enumerate(ROWS[choose_kind(task, several)])
    ]
    assert read.to_pylist() == [
        {key: pytest.approx(value) if key == "loss" and value else value for key, value in row.items()}
        for row in expected
    ]
    assert [read_row(read, number) for number in range(len(expected))] == read.to_pylist()
    assert read.schema.metadata == {b"class 1": b"ant", b"class 2": "bée".encode()}


@pytest.mark.parametrize(("task", "several", "score"), CASES, ids=ROWS)
def test_columns_have_their_types_though_there_is_no_row(task: str, several: bool, score: Any, tmp_path: Path) -> None:
    write_examples(tmp_path, table(task, several, type(score)(CLASSES)))
    assert pq.read_table(tmp_path / FILE).num_rows == 0
    assert pq.read_schema(tmp_path / FILE) == table(task, several, score).schema


def test_a_table_of_examples_needs_no_pandas() -> None:
    """Which takes half a second to load."""
    lines = [
        "import sys",
        "from bakeoff.learning.metrics.multi_label import MultiLabelScore",
        "from bakeoff.evaluation.examples_parquet import make_table, read_row",
        "columns = MultiLabelScore(('a',)).update([[True]], [[0.5]]).columns()",
        "assert read_row(make_table(columns, [0], ['b'], 'several labels', ['a']), 0)['truth'] == ['a']",
        "assert 'pandas' not in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_originals_have_the_names_and_bytes_of_the_records(
    write_train: Callable[..., Split], open_store: Callable[..., Any], tmp_path: Path
) -> None:
    records = [Record(f"träin/{number}", (bytes([number]) * 9,), 8, 8, labels=("a",)) for number in range(3)]
    store = open_store(tmp_path, write_train(records, ["a"]))
    assert store.names(np.array([2, 0, 1])) == ["träin/2", "träin/0", "träin/1"]
    assert Originals(store.read).images(2) == [bytes([2]) * 9]


@pytest.mark.parametrize(("frames", "shown"), [(1, [0]), (3, [0, 1, 2]), (16, [0, 5, 10, 15])])
def test_a_clip_is_shown_by_frames_evenly_apart(
    frames: int, shown: list[int], write_train: Callable[..., Split], open_store: Callable[..., Any], tmp_path: Path
) -> None:
    record = Record("clip", tuple(bytes([n]) for n in range(frames)), 8, 8, labels=("a",), frames_per_second=10.0)
    store = open_store(tmp_path, write_train([record], ["a"]))
    assert Originals(store.read).images(0) == [bytes([number]) for number in shown]
