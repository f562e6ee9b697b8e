"""Runs of a classifier whose answers are known, as an evaluation leaves them with the tracker."""

import shutil
from pathlib import Path

import numpy as np

from bakeoff.evaluation.examples_parquet import make_table, write_examples
from bakeoff.learning.metrics.classification import Answer, ClassificationScore
from bakeoff.tracking.journal.journal import Journal
from support.run_journals import write_run

CLASSES = ("cat", "dog")


def evaluated(folder: Path, right: int, examples: int = 60, classes: tuple[str, ...] = CLASSES) -> Path:
    """Sure of all, and right on the first so many."""
    folder.mkdir(parents=True)
    truth = np.arange(examples) % 2 + 1
    answers = [
        Answer(
            int(label), int(label) if at < right else 3 - int(label), 0.9, 0.9 if at < right else 0.1, int(at >= right)
        )
        for at, label in enumerate(truth)
    ]
    columns, files = ClassificationScore(classes, tuple(answers)).columns(), [f"{at}.jpg" for at in range(examples)]
    write_examples(folder, make_table(columns, range(examples), files, "one label", classes))
    return folder / "examples.parquet"


def with_examples(run_id: str, file: Path, **params: str) -> None:
    """Handed over to the tracker, which keeps them."""
    write_run(run_id, {"evaluation/accuracy": 0.5}, **params)
    journal = Journal(run_id)
    journal.file(file, "evaluation/examples.parquet")
    journal.close()
    shutil.rmtree(file.parent)  # by the next run
