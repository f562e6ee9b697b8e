"""Random truth and detections, and pycocotools' judgement of them."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.detection import DetectionScore

CLASSES = ("ant", "bee", "cow")
EMPTY = DetectionScore(CLASSES)
COCO_NAMES = [
    *("mAP", "mAP_50", "mAP_75", "mAP_small", "mAP_medium", "mAP_large"),
    *("AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large"),
]
Pairs = list[tuple[Boxes, Boxes]]


def true(*rows: tuple[list[float], int]) -> Boxes:
    corners = np.array([box for box, _ in rows], np.float32).reshape(-1, 4)
    return Boxes(corners, np.array([label for _, label in rows], np.int64))


def given(*rows: tuple[list[float], int, float]) -> Boxes:
    boxes = true(*((box, label) for box, label, _ in rows))
    return Boxes(boxes.corners, boxes.classes, np.array([score for _, _, score in rows], np.float32))


def scored(pairs: Pairs) -> DetectionScore:
    score = EMPTY
    for truth, detections in pairs:
        score = score.update(truth, detections)
    return score


def random_pairs(seed: int, images: int, most: int = 6, decimals: int = 9) -> Pairs:
    """Truth of all sizes; found are most of it, moved a little, some with another class, and some of nothing."""
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(images):
        count = int(draw.integers(0, most + 1))
        low, size = draw.uniform(0, 200, (count, 2)), np.exp(draw.uniform(np.log(8), np.log(250), (count, 2)))
        truth = np.concatenate([low, low + size], axis=1).astype(np.float32)
        classes = draw.integers(1, 4, count)
        kept = draw.random(count) < 0.8
        moved = truth[kept] + (draw.normal(0, 0.08, (kept.sum(), 4)) * np.tile(size[kept], 2)).astype(np.float32)
        moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)
        confused = np.where(draw.random(kept.sum()) < 0.15, draw.integers(1, 4, kept.sum()), classes[kept])
        wrong = draw.uniform(0, 200, (3, 2))
        corners = np.concatenate([moved, np.concatenate([wrong, wrong + 40], axis=1)]).astype(np.float32)
        labels = np.concatenate([confused, draw.integers(1, 4, 3)])
        scores = np.round(draw.random(len(labels)), decimals).astype(np.float32)
        pairs.append((Boxes(truth, classes), Boxes(corners, labels, scores)))
    return pairs


def hard_pairs(seed: int) -> Pairs:
    """Crowds of alike boxes, equal scores, a class without truth or without detections, boxes without area."""
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(int(draw.integers(1, 5))):
        count, extra = int(draw.integers(0, 12)), int(draw.integers(0, 20))
        corners = draw.integers(0, 5, (count, 2)) * 8.0
        truth = np.concatenate([corners, corners + draw.integers(0, 4, (count, 2)) * 12.0], axis=1)
        corners = draw.integers(0, 5, (extra, 2)) * 8.0
        detections = np.concatenate([corners, corners + draw.integers(0, 4, (extra, 2)) * 12.0], axis=1)
        scores = np.round(draw.random(extra), int(draw.integers(0, 3)))
        true_labels, labels = draw.integers(1, 3, count), draw.integers(1 + seed % 2, 4, extra)
        pairs.append((Boxes(truth, true_labels), Boxes(detections, labels, scores)))
    return pairs


SIDES = (0, 8, 16, 32, 31.999999, 32.000001, 64, 96, 95.999999, 96.000001, 110_000)  # areas at COCO's limits


def edge_pairs(seed: int) -> Pairs:
    """Areas at COCO's limits of sizes, more than 100 detections of a class, one score for many, empty images."""
    draw = np.random.default_rng(seed)
    pairs = []
    for _ in range(int(draw.integers(1, 4))):
        count, extra = int(draw.choice([0, 1, 5, 40])), int(draw.choice([0, 1, 30, 150, 400]))
        shares = draw.dirichlet([0.3] * 3)  # often nearly all are of one class
        corners, detection_corners = (draw.integers(0, 3, (number, 2)) * 16.0 for number in (count, extra))
        truth = np.concatenate([corners, corners + draw.choice(SIDES, (count, 2))], axis=1)
        detections = np.concatenate([detection_corners, detection_corners + draw.choice(SIDES, (extra, 2))], axis=1)
        scores = np.round(draw.random(extra), int(draw.integers(0, 3)))
        labels = draw.choice([1, 2, 3], extra, p=shares)
        pairs.append((Boxes(truth, draw.integers(1, 4, count)), Boxes(detections, labels, scores)))
    return pairs


def by_pycocotools(pairs: Pairs, folder: Path | None = None, only: int | None = None) -> COCOeval:
    """For one class or all of them; with a folder written as COCO's files and read by its own program."""
    annotations, results = [], []
    for image, (truth, detections) in enumerate(pairs):
        for (y0, x0, y1, x1), label in zip(truth.corners.tolist(), truth.classes.tolist(), strict=True):
            size = {"bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0), "iscrowd": 0}
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": label} | size)
        assert detections.scores is not None
        rows = zip(detections.corners.tolist(), detections.classes.tolist(), detections.scores.tolist(), strict=True)
        for (y0, x0, y1, x1), label, score in rows:
            box = [x0, y0, x1 - x0, y1 - y0]
            results.append({"image_id": image, "category_id": label, "bbox": box, "score": score})
    dataset = {"info": {}, "categories": [{"id": number} for number in (1, 2, 3)], "annotations": annotations}
    dataset["images"] = [{"id": image} for image in range(len(pairs))]
    with contextlib.redirect_stdout(io.StringIO()):
        if folder:
            (folder / "truth.json").write_text(json.dumps(dataset))
            (folder / "found.json").write_text(json.dumps(results))
            truth_file = COCO(str(folder / "truth.json"))
            detections_file = truth_file.loadRes(str(folder / "found.json"))
        else:
            truth_file, detections_file = COCO(), COCO()
            truth_file.dataset = dataset
            truth_file.createIndex()
            if results:
                detections_file = truth_file.loadRes(results)
            else:
                detections_file.dataset = dataset | {"annotations": []}
                detections_file.createIndex()
        judge = COCOeval(truth_file, detections_file, "bbox")
        if only is not None:
            judge.params.catIds = [only]
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return judge
