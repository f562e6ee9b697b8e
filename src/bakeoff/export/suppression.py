"""Candidates -> detections in NumPy, by the rule of evaluation, for files that give every candidate."""

from dataclasses import dataclass

import numpy as np

Found = dict[str, np.ndarray]


def read_points(rows: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes (a, 4) and scores (a, k) from the layout of YOLOv8, whose boxes are shares of `side`: (4 + k, a)."""
    x, y, width, height = rows[:4] / np.float32(side)
    boxes = np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], axis=1)
    return boxes, rows[4:].T


def read_corners(
    corners: np.ndarray, scores: np.ndarray, classes: np.ndarray, *, side: float, num_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same from boxes (a, 4) x1 y1 x2 y2 in pixels, and each one's likeliest class."""
    places = classes.astype(np.int64)
    every = np.where(np.arange(num_classes) == places[:, None], scores[:, None], np.float32(0))
    return corners[:, [1, 0, 3, 2]] / np.float32(side), every


@dataclass(frozen=True)
class Rule:
    """The fields are those of `suppression` in a detector's settings."""

    min_score: float
    max_overlap: float
    max_detections: int  # of an image
    max_detections_per_class: int | None = None

    def detections(self, boxes: np.ndarray, scores: np.ndarray) -> Found:
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
