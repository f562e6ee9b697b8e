"""Write records, and journals of runs whose predictions for these records are known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.dataset.building.build import build
from bakeoff.dataset.sources.dataset import Dataset, Part
from bakeoff.evaluation.examples_parquet import make_table, write_examples
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.tracking.journal.journal import Journal
from support.run_journals import write_run


def make_records(dataset: Dataset) -> None:
    build([Part("", dataset)], Path("data/records"), workers=1)


def write_class_run(run_id: str, answers: Mapping[str, tuple[str, str]], classes: tuple[str, ...]) -> None:
    """Write the journal of a run with the true and the predicted class of each file: {"cat/1.jpg": ("cat", "dog")}."""
    ids = {label: number for number, label in enumerate(classes, start=1)}
    score = ClassificationScore(
        classes,
        tuple(
            Answer(ids[truth], ids[given], 0.9, 0.9 if truth == given else 0.05, int(truth != given))
            for truth, given in answers.values()
        ),
    )
    _write_run(run_id, score, list(answers), "one label", classes)


def write_box_run(run_id: str, answers: Mapping[str, tuple[list, list]], size: tuple[int, int]) -> None:
    """Write the journal of a run with the true and the predicted boxes of each file. All boxes have one class.

    A box is xmin ymin xmax ymax in shares of the picture. `size` is its width and height.
    """
    width, height = size
    sides = np.array([height, width, height, width])

    def boxes(corners: list, scores: Any = None) -> Boxes:
        ordered = np.array(corners, np.float64).reshape(-1, 4)[:, [1, 0, 3, 2]] * sides
        return Boxes(ordered, np.ones(len(corners), np.int64), scores)

    truth = tuple(boxes(true) for true, _ in answers.values())
    predictions = tuple(boxes(given, np.full(len(given), 0.9)) for _, given in answers.values())
    score = DetectionScore(("cat",), truth, predictions, (None,) * len(truth))
    _write_run(run_id, score, list(answers), "boxes", ("cat",))


def _write_run(run_id: str, score: Any, files: list[str], kind: str, classes: tuple[str, ...]) -> None:
    folder = Path(f"evaluation-{run_id}")
    folder.mkdir()
    write_examples(folder, make_table(score.columns(), range(len(files)), files, kind, classes))
    write_run(run_id, {"evaluation/accuracy": 0.5})
    journal = Journal(run_id)
    journal.file(folder / "examples.parquet", "evaluation/examples.parquet")
    journal.close()
