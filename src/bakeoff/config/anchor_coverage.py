"""How well a detector's anchors fit a data set: a box that no anchor overlaps enough is hard to learn."""

import numpy as np

MOST_BOXES = 1000  # looked at; more say the same
BOXES_AT_ONCE = 50


def best_overlaps(anchors: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """For each box the intersection over union with the anchor that fits it best.

    Of more than `MOST_BOXES` boxes, so many are taken at even distances.
    """
    if len(boxes) > MOST_BOXES:
        boxes = boxes[np.linspace(0, len(boxes) - 1, MOST_BOXES).astype(int)]
    parts = [boxes[start : start + BOXES_AT_ONCE] for start in range(0, len(boxes), BOXES_AT_ONCE)]
    return np.concatenate([_overlaps(part, anchors).max(axis=1) for part in parts]) if parts else np.zeros(0)


def _overlaps(boxes: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    low = np.maximum(boxes[:, None, :2], anchors[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], anchors[None, :, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=-1)
    return both / (_areas(boxes)[:, None] + _areas(anchors)[None, :] - both)


def _areas(boxes: np.ndarray) -> np.ndarray:
    return np.prod(boxes[:, 2:] - boxes[:, :2], axis=-1)
