"""Records, and runs whose answers to their examples are known, as journals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.building.build import build
from bakeoff.metrics.boxes import Boxes
from bakeoff.metrics.classification import Answer, ClassificationScore
from bakeoff.metrics.detection import DetectionScore
from bakeoff.report.examples import make_table, write_examples
from bakeoff.sources.dataset import Dataset, Part
from bakeoff.tracking.journal import Journal
from told_runs import told


def make_records(dataset: Dataset) -> None:
    build([Part("", dataset)], Path("data/records"), workers=1)


def tell_classes(run_id: str, answers: Mapping[str, tuple[str, str]], classes: tuple[str, ...]) -> None:
    """Tell of a run that gives each file, whose label it was told, a class: {"cat/1.jpg": ("cat", "dog")}."""
    ids = {label: number for number, label in enumerate(classes, start=1)}
    score = ClassificationScore(
        classes,
        tuple(
            Answer(ids[truth], ids[given], 0.9, 0.9 if truth == given else 0.05, int(truth != given))
            for truth, given in answers.values()
        ),
    )
    _tell(run_id, score, list(answers), "one label", classes)


def tell_boxes(run_id: str, answers: Mapping[str, tuple[list, list]], size: tuple[int, int]) -> None:
    """Tell of a run that finds boxes of one class, xmin ymin xmax ymax in shares; `size` is width and height."""
    width, height = size
    sides = np.array([height, width, height, width])

    def boxes(corners: list, scores: Any = None) -> Boxes:
        ordered = np.array(corners, np.float64).reshape(-1, 4)[:, [1, 0, 3, 2]] * sides
        return Boxes(ordered, np.ones(len(corners), np.int64), scores)

    truth = tuple(boxes(true) for true, _ in answers.values())
    found = tuple(boxes(given, np.full(len(given), 0.9)) for _, given in answers.values())
    score = DetectionScore(("cat",), truth, found, (None,) * len(truth))
    _tell(run_id, score, list(answers), "boxes", ("cat",))


def _tell(run_id: str, score: Any, files: list[str], kind: str, classes: tuple[str, ...]) -> None:
    folder = Path(f"told-{run_id}")
    folder.mkdir()
    write_examples(folder, make_table(score.columns(), range(len(files)), files, kind, classes))
    told(run_id, {"evaluation/accuracy": 0.5})
    journal = Journal(run_id)
    journal.file(folder / "examples.parquet", "evaluation/examples.parquet")
    journal.close()
