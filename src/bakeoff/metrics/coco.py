"""COCO's twelve numbers and precision at each recall, counted by faster-coco-eval, a COCO library in C++."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from faster_coco_eval import COCO, COCOeval_faster

from bakeoff.metrics.boxes import Boxes

NAMES = (
    "mAP", "mAP_50", "mAP_75", "mAP_small", "mAP_medium", "mAP_large",
    "AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large",
)  # fmt: skip


class Coco:
    def __init__(self, classes: int, truth: Sequence[Boxes], found: Sequence[Boxes]) -> None:
        self._classes, self._truth, self._found = classes, truth, found

    def numbers(self) -> dict[str, float]:
        """One that COCO calls undefined (-1) is left out."""
        stats = self._judge.stats[: len(NAMES)]
        return {name: float(value) for name, value in zip(NAMES, stats, strict=True) if value >= 0}

    def precision(self) -> np.ndarray:
        """(overlaps 0.5, 0.55, ... 0.95, recalls 0, 0.01, ... 1, classes), all sizes; -1 for a class without truth."""
        return self._judge.eval["precision"][:, :, :, 0, -1]

    @cached_property
    def _judge(self) -> COCOeval_faster:
        truth = COCO(self._dataset())
        judge = COCOeval_faster(truth, truth.loadRes(self._rows()), iouType="bbox")
        judge.run()
        return judge

    def _dataset(self) -> dict:
        annotations: list[dict] = []
        for image, boxes in enumerate(self._truth, start=1):
            for box, label in zip(_left_top_width_height(boxes.corners), boxes.classes.tolist(), strict=True):
                row = {"id": len(annotations) + 1, "image_id": image, "category_id": label, "bbox": box}
                annotations.append(row | {"area": box[2] * box[3], "iscrowd": 0})
        images = [{"id": image} for image in range(1, len(self._truth) + 1)]
        categories = [{"id": number} for number in range(1, self._classes + 1)]
        return {"info": {}, "images": images, "annotations": annotations, "categories": categories}

    def _rows(self) -> list[dict]:
        rows = []
        for image, boxes in enumerate(self._found, start=1):
            assert boxes.scores is not None
            corners = _left_top_width_height(boxes.corners)
            for box, label, score in zip(corners, boxes.classes.tolist(), boxes.scores.tolist(), strict=True):
                rows.append({"image_id": image, "category_id": label, "bbox": box, "score": score})
        return rows


def _left_top_width_height(corners: np.ndarray) -> list[list[float]]:
    low, high = corners[:, :2].astype(np.float64), corners[:, 2:].astype(np.float64)
    return np.concatenate([low[:, ::-1], (high - low)[:, ::-1]], axis=1).tolist()
