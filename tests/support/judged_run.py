"""A finished run with the examples of its evaluation, without a training: for the page that judges it."""

from pathlib import Path

import numpy as np
from PIL import Image

from bakeoff.evaluation import examples_parquet
from bakeoff.experiments.compare.examples import NAME
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import workspace
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import Target
from support.made_runs import made

CLASSES = ("marker", "cube")
SIZE = (120, 80)


def write_judged_run(folder: Path, fingerprint: str, run_id: str, *, photos: int = 8, **printed: object) -> None:
    """Make a detector's run: of the markers it misses that of the last photo, and one box in it is wrong."""
    made(folder / ".bakeoff/runs", fingerprint, State.SUCCEEDED, run_id=run_id, **printed)
    raw = folder / "data/raw/gym/images"
    raw.mkdir(parents=True, exist_ok=True)
    score, names = DetectionScore(CLASSES), [f"images/IMG_{number}.jpg" for number in range(photos)]
    for number, name in enumerate(names):
        Image.new("RGB", SIZE, (90, 120, 30)).save(raw / Path(name).name)
        marker, cube, wrong = [10.0, 10.0, 40.0, 50.0], [45.0, 60.0, 75.0, 100.0], [60.0, 5.0, 78.0, 40.0]
        last = number + 1 == photos
        truth = Boxes(np.array([marker, cube]), np.array([1, 2]))
        given = Boxes(np.array([wrong if last else marker, cube]), np.array([1, 2]), np.array([0.8, 0.9]))
        score = score.update(truth, given)
    table = examples_parquet.make_table(score.columns(), list(range(photos)), names, "boxes", CLASSES)
    where = folder / "models/evaluation"
    where.mkdir(parents=True, exist_ok=True)
    examples_parquet.write_examples(where, table)
    journal = Journal(run_id)
    Target("local", "bakeoff").write(journal.folder)
    journal.params({"data.path": (workspace.RAW / "gym").as_posix(), "derived.validation_examples": str(photos)})
    journal.metrics(60, {"validation/mAP_50": 0.9, "evaluation/mAP_50": 0.9, "evaluation/interval.mAP_50.low": 0.61,
                         "evaluation/interval.mAP_50.high": 0.98})  # fmt: skip
    journal.file(where / examples_parquet.FILE, NAME)
    journal.close()
