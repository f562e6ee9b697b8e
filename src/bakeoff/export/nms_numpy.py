"""Candidates -> detections in NumPy, by the rule of evaluation, for files that give every candidate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Predictions = dict[str, np.ndarray]
MOST = 100_000  # detections of an image


def read_candidates(layout: str, values: list[np.ndarray], side: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes (a, 4) and scores (a, k) from the outputs of one image in a layout of point_layout.py.

    `side` is of the input, in the unit of the boxes of `yolov8`: 1 where they are shares of it.
    """
    if layout == "yolov8":
        [rows] = values
        x, y, width, height = rows[:4] / np.float32(side)
        return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], axis=1), rows[4:].T
    if layout == "yolov8_corners":
        boxes, best, classes = values
        scores = np.where(classes[:, None] == np.arange(labels), best[:, None], np.float32(0))
        return boxes[:, [1, 0, 3, 2]] / np.float32(side), scores
    every = [_read_level(*values[place : place + 2]) for place in range(0, len(values), 3)]
    return np.concatenate([boxes for boxes, _ in every]), np.concatenate([scores for _, scores in every])


def _read_level(logits: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _, rows, columns = scores.shape
    sides = logits.reshape(4, -1, rows, columns)
    shares = np.exp(sides - sides.max(axis=1, keepdims=True))
    bins = np.arange(shares.shape[1], dtype=np.float32)[:, None, None]
    left, up, right, down = (shares * bins).sum(axis=1) / shares.sum(axis=1)  # in strides
    y, x = np.mgrid[:rows, :columns] + np.float32(0.5)
    boxes = np.stack([(y - up) / rows, (x - left) / columns, (y + down) / rows, (x + right) / columns], axis=-1)
    return boxes.reshape(-1, 4), scores.reshape(len(scores), -1).T


@dataclass(frozen=True)
class Rule:
    """The fields are those of `suppression` in a detector's settings."""

    min_score: float
    max_overlap: float
    max_detections: int  # of an image
    max_detections_per_class: int | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Rule":
        """Return the rule that a file tells of. Raises TypeError or ValueError if it is none."""
        rule = cls(**settings)
        shares, counts = (rule.min_score, rule.max_overlap), (rule.max_detections, rule.max_detections_per_class or 1)
        if not all(0 <= share <= 1 for share in shares) or not all(1 <= int(count) <= MOST for count in counts):
            raise ValueError(f"shares must be 0 to 1 and counts 1 to {MOST:,}, got {shares} and {counts}")
        return rule

    def detections(self, boxes: np.ndarray, scores: np.ndarray) -> Predictions:
        """Choose among boxes (a, 4) with scores (a, k): of each class the best boxes that do not overlap a better one.

        Returns `boxes` inside the image, `scores`, best first, and `classes`, ids from 1.
        """
        most = self.max_detections_per_class or self.max_detections
        chosen = [self._of_class(boxes, scores[:, place], most) for place in range(scores.shape[1])]
        rows = np.concatenate(chosen)
        places = np.repeat(np.arange(len(chosen)), [len(kept) for kept in chosen])
        best = np.argsort(-scores[rows, places], kind="stable")[: self.max_detections]
        rows, places = rows[best], places[best]
        return {"boxes": np.clip(boxes[rows], 0.0, 1.0), "scores": scores[rows, places], "classes": places + 1}

    def _of_class(self, boxes: np.ndarray, scores: np.ndarray, most: int) -> np.ndarray:
        rows = np.flatnonzero(scores > self.min_score)
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        kept: list[int] = []
        while len(rows) and len(kept) < most:
            kept.append(int(rows[0]))
            rows = rows[1:][_overlaps(boxes[rows[0]], boxes[rows[1:]]) <= self.max_overlap]
        return np.array(kept, np.int64)


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the intersection over union of one box with each of the others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    both = np.prod(np.maximum(high - low, 0.0), axis=1)
    union = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], axis=1) - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)
