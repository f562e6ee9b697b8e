"""What judging detections costs, apart from the network: COCO's numbers by two libraries, and everything else.

    python benchmarks/metrics.py            # 150, 1,000 and 5,000 images with 20 detections each, 10 classes

CPU seconds of one process, the least of three runs: nothing here waits or runs in threads.
"""

import contextlib
import io
import time
from collections.abc import Callable, Sequence

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from result import print_result

from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.detection import DetectionScore

CLASSES = tuple(f"class {number}" for number in range(10))
DETECTIONS, REPEATS, SAMPLES = 20, 3, 1000


def scene(draw: np.random.Generator) -> tuple[Boxes, Boxes]:
    """One to five boxes, each found a little off, and as many detections of nothing as make twenty."""
    count = int(draw.integers(1, 6))
    low, classes = draw.uniform(0, 120, (count, 2)), draw.integers(1, 11, count)
    truth = np.concatenate([low, low + draw.uniform(20, 60, (count, 2))], axis=1)
    wrong = draw.uniform(0, 120, (DETECTIONS - count, 2))
    wrong = np.concatenate([wrong, wrong + draw.uniform(20, 60, wrong.shape)], axis=1)
    predicted = np.concatenate([truth + draw.normal(0, 3, truth.shape), wrong])
    labels = np.concatenate([classes, draw.integers(1, 11, len(wrong))])
    scores = np.concatenate([draw.uniform(0.2, 1, count), draw.uniform(0, 0.5, len(wrong))])
    return Boxes(truth, classes), Boxes(predicted, labels, scores)


def by_pycocotools(score: DetectionScore) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {
            "info": {},
            "images": [{"id": image} for image in range(len(score.truth))],
            "categories": [{"id": number} for number in range(1, len(CLASSES) + 1)],
            "annotations": [row | {"id": number} for number, row in enumerate(annotations(score.truth), start=1)],
        }
        truth.createIndex()
        judge = COCOeval(truth, truth.loadRes(annotations(score.predictions)), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()


def annotations(images: Sequence[Boxes]) -> list[dict]:
    rows = []
    for image, boxes in enumerate(images):
        scores = boxes.scores if boxes.scores is not None else np.ones(len(boxes.classes))
        columns = (boxes.corners.tolist(), boxes.classes.tolist(), scores.tolist())
        for (top, left, bottom, right), label, sure in zip(*columns, strict=True):
            wide, high = right - left, bottom - top
            row = {"image_id": image, "category_id": label, "bbox": [left, top, wide, high], "area": wide * high}
            rows.append(row | {"iscrowd": 0, "score": sure})
    return rows


def seconds(work: Callable[[DetectionScore], object], images: int) -> float:
    took = []
    for _ in range(REPEATS):
        draw = np.random.default_rng(0)
        truth, predicted = zip(*(scene(draw) for _ in range(images)), strict=True)
        score = DetectionScore(CLASSES, truth, predicted, (None,) * images)
        start = time.process_time()
        work(score)
        took.append(time.process_time() - start)
    return min(took)


def main() -> None:
    groups = [str(number) for number in range(5000)]
    works: dict[str, Callable[[DetectionScore], object]] = {
        "pycocotools": by_pycocotools,
        "hotcoco": lambda score: score._coco.numbers(),
        "result, all numbers": lambda score: score.result(),
        f"intervals, {SAMPLES:,} drawings": lambda score: score.intervals(groups[: len(score.truth)], SAMPLES),
        "columns and plots": lambda score: (score.columns(), score.plots()),
    }
    sizes, taken = (150, 1000, 5000), {}
    print(f"{'CPU seconds':26}" + "".join(f"{images:>8,}" for images in sizes))
    for name, work in works.items():
        taken[name] = [seconds(work, images) for images in sizes]
        print(f"{name:26}" + "".join(f"{one:8.2f}" for one in taken[name]), flush=True)
    what, (there, here) = f"COCO's numbers of {sizes[-1]:,} images", (taken[name][-1] for name in list(works)[:2])
    print_result(what, f"{here:.2f} s of CPU", f"{there:.2f} s", ratio=there / here, other="pycocotools")


if __name__ == "__main__":
    main()
