"""COCO's average precision, counted by pycocotools.

DetectionScore(("0", "1")).update(truth, found) + ... -> {"mAP": 0.52, "AP_50": {"0": 0.9, ...}, ...}
"""

import contextlib
import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

NAMES = (
    "mAP", "mAP_50", "mAP_75", "mAP_small", "mAP_medium", "mAP_large",
    "AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large",
)  # fmt: skip


@dataclass(frozen=True)
class Boxes:
    """The boxes of one image in pixels: ymin xmin ymax xmax (n, 4), class ids 1..k (n,), scores (n,) if found."""

    corners: np.ndarray
    classes: np.ndarray
    scores: np.ndarray | None = None


@dataclass(frozen=True)
class DetectionScore:
    classes: tuple[str, ...]
    truth: tuple[Boxes, ...] = ()
    found: tuple[Boxes, ...] = ()

    def update(self, truth: Boxes, found: Boxes) -> "DetectionScore":
        return DetectionScore(self.classes, (*self.truth, truth), (*self.found, found))

    def __add__(self, other: "DetectionScore") -> "DetectionScore":
        return DetectionScore(self.classes, self.truth + other.truth, self.found + other.found)

    def result(self) -> dict:
        """Higher is better in all; a number that COCO calls undefined (-1) is left out."""
        judge = self._judge
        numbers: dict = {name: float(value) for name, value in zip(NAMES, judge.stats, strict=False) if value >= 0}
        numbers["AP_50"] = {
            label: float(curve.mean())
            for label, curve in zip(self.classes, self._precision(judge), strict=True)
            if curve[0] > -1
        }
        return numbers

    def rows(self) -> list[dict]:
        return [
            {"example": number, "truth": self._named(truth), "found": self._named(found)}
            for number, (truth, found) in enumerate(zip(self.truth, self.found, strict=True))
        ]

    def plots(self) -> dict[str, list[dict]]:
        """Mean precision over the classes at each recall, for overlap 0.5."""
        curves = self._precision(self._judge)
        known = curves[curves[:, 0] > -1]
        mean = known.mean(axis=0) if len(known) else np.zeros(curves.shape[1])
        recalls = np.linspace(0, 1, len(mean))
        curve = zip(recalls, mean, strict=True)
        return {"precision_recall": [{"recall": round(float(r), 2), "precision": round(float(p), 4)} for r, p in curve]}

    @cached_property
    def _judge(self) -> COCOeval:
        with contextlib.redirect_stdout(io.StringIO()):  # pycocotools prints as it goes
            truth = COCO()
            truth.dataset = self._dataset()
            truth.createIndex()
            rows = self._rows()
            found = truth.loadRes(rows) if rows else _nothing_found()
            judge = COCOeval(truth, found, iouType="bbox")
            judge.evaluate()
            judge.accumulate()
            judge.summarize()
        return judge

    def _precision(self, judge: COCOeval) -> np.ndarray:
        """(classes, recalls) for overlap 0.5, all sizes and as many detections as COCO counts; -1 without truth."""
        return judge.eval["precision"][0, :, :, 0, -1].T

    def _named(self, boxes: Boxes) -> list[dict]:
        scores = (
            [{}] * len(boxes.classes) if boxes.scores is None else [{"score": round(float(s), 5)} for s in boxes.scores]
        )
        return [
            {"label": self.classes[int(label) - 1], "box": [round(float(side), 2) for side in corners]} | score
            for corners, label, score in zip(boxes.corners, boxes.classes, scores, strict=True)
        ]

    def _dataset(self) -> dict:
        images = [{"id": image} for image in range(1, len(self.truth) + 1)]
        annotations: list[dict] = []
        for image, boxes in enumerate(self.truth, start=1):
            for corners, label in zip(boxes.corners, boxes.classes, strict=True):
                box = _left_top_width_height(corners)
                row = {"id": len(annotations) + 1, "image_id": image, "category_id": int(label), "bbox": box}
                annotations.append(row | {"area": box[2] * box[3], "iscrowd": 0})
        categories = [{"id": number} for number in range(1, len(self.classes) + 1)]
        return {"info": {}, "images": images, "annotations": annotations, "categories": categories}

    def _rows(self) -> list[dict]:
        rows = []
        for image, boxes in enumerate(self.found, start=1):
            assert boxes.scores is not None
            for corners, label, score in zip(boxes.corners, boxes.classes, boxes.scores, strict=True):
                box = _left_top_width_height(corners)
                rows.append({"image_id": image, "category_id": int(label), "bbox": box, "score": float(score)})
        return rows


def _nothing_found() -> COCO:
    found = COCO()
    found.dataset = {"images": [], "annotations": [], "categories": []}
    found.createIndex()
    return found


def _left_top_width_height(corners: np.ndarray) -> list[float]:
    ymin, xmin, ymax, xmax = (float(side) for side in corners)
    return [xmin, ymin, xmax - xmin, ymax - ymin]
