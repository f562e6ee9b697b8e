"""COCO's twelve numbers and precision at each recall, counted by hotcoco, a COCO library in Rust.

It takes the columns of the tables as they are. Its numbers equal those of pycocotools to the bit.
"""

from functools import cached_property

import numpy as np
from hotcoco import COCO as Dataset
from hotcoco import COCOeval

from bakeoff.learning.metrics.box_matching import BoxArrays
from bakeoff.learning.metrics.names import COCO

ALL, MOST_GIVEN = 0, -1  # COCO's index of all sizes, and of 100 detections, its highest limit
AT_50, AT_75 = 0, 5  # of the overlaps


class CocoMetrics:
    def __init__(self, classes: int, images: int, truth: BoxArrays, predictions: BoxArrays) -> None:
        """In each image, the detections of a class are best first."""
        self._classes, self._images, self._truth, self._predictions = classes, images, truth, predictions

    def numbers(self) -> dict[str, float]:
        """Return COCO's numbers by name, without those that COCO calls undefined (-1).

        They are averaged here, as COCO does it, because the library prints a table whenever it averages.
        """
        precision = self._counts["precision"][..., MOST_GIVEN]  # (overlaps, recalls, classes, sizes)
        recall = self._counts["recall"]  # (overlaps, classes, sizes, limits of detections)
        everywhere = precision[..., ALL]
        parts = [everywhere, everywhere[AT_50], everywhere[AT_75], *(precision[..., size] for size in (1, 2, 3))]
        parts += [recall[:, :, ALL, limit] for limit in (0, 1, 2)]
        parts += [recall[:, :, size, MOST_GIVEN] for size in (1, 2, 3)]
        known = {name: part[part > -1] for name, part in zip(COCO, parts, strict=True)}
        return {name: float(np.mean(values)) for name, values in known.items() if len(values)}

    def precision(self) -> np.ndarray:
        """(overlaps 0.5, 0.55, ... 0.95, recalls 0, 0.01, ... 1, classes), all sizes; -1 for a class without truth."""
        return self._counts["precision"][:, :, :, ALL, MOST_GIVEN]

    @cached_property
    def _counts(self) -> dict[str, np.ndarray]:
        images = [{"id": image} for image in range(self._images)]
        classes = [{"id": number, "name": str(number)} for number in range(1, self._classes + 1)]
        boxes = _measure(self._truth)
        truth = Dataset.from_arrays(images, classes, self._truth.image, self._truth.classes, boxes)
        predictions = self._predictions
        rows = np.column_stack([predictions.image, _measure(predictions), predictions.scores, predictions.classes])
        judge = COCOeval(truth, truth.load_res(rows), "bbox")
        judge.evaluate()
        judge.accumulate()
        counted = judge.eval
        assert counted is not None  # it was accumulated
        return counted


def _measure(boxes: BoxArrays) -> np.ndarray:
    """Return left, top, width and height of each box, (n, 4)."""
    low, high = boxes.corners[:, :2], boxes.corners[:, 2:]
    return np.concatenate([low, high - low], axis=1)[:, [1, 0, 3, 2]]
