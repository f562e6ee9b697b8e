"""Average precision of detections in order of their scores: COCO's for many weightings of the images, and Pascal VOC's.

A weight says how often an image counts. With all of them 1 the numbers are COCO's; drawn at random they are those of
resampled images, without counting anything anew.
"""

from itertools import pairwise

import numpy as np

from bakeoff.learning.metrics.box_matching import BoxArrays, find_pairs

RECALLS = np.linspace(0, 1, 101)
VOC_OVERLAP = 0.5
ELEVEN = np.linspace(0, 1, 11)  # as floats a little off: 6 of 20 is less than 0.3
LONG = 32  # weightings from which on one call for each row is faster than one for all


def average_precisions(
    image: np.ndarray, hits: np.ndarray, true_counts: np.ndarray, often: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Average precision and highest recall of one class, (overlaps, weightings); NaN where it has no true boxes.

    Of the class's detections, best first: image (d,), hits (d, overlaps). Of the images: true_counts (images,), and how
    often each counts, (images, weightings).
    """
    boxes = np.repeat(np.arange(len(true_counts)), true_counts)  # the image of each
    true = np.add.reduce(often.take(boxes, axis=0), axis=0, dtype=np.int64)  # (weightings,)
    nothing = np.where(true > 0, 0.0, np.nan)
    precisions, recalls = np.zeros((2, hits.shape[1], often.shape[1]))
    last = hits.copy()  # of hits in a row: up to it precision only rises, and from it to the next hit it only falls
    last[:-1] &= ~hits[1:]
    rows = np.flatnonzero(last.any(axis=1))
    if not len(rows):
        return precisions + nothing, recalls + nothing
    given = np.maximum(_running_sums(image, rows, often), 1).astype(float)  # (rows, weightings)
    reached = _RecallsReached(true)
    for column, (hit, ends) in enumerate(zip(hits.T, last.T, strict=True)):
        if not hit.any():
            continue
        found = _running_sums(image[hit], np.flatnonzero(ends[hit]), often)
        recalls[column] = found[-1] / np.maximum(true, 1)
        highest = found / given[ends[rows]]
        _running(np.maximum, highest[::-1])  # from each detection on
        highest *= reached.newly_by(found)
        precisions[column] = highest.sum(axis=0) / len(RECALLS)
    return precisions + nothing, recalls + nothing


class _RecallsReached:
    """How many of RECALLS so many hits reach, compared as COCO compares them, as floats; looked up."""

    def __init__(self, true: np.ndarray) -> None:
        totals, column = np.unique(true, return_inverse=True)
        hits = np.arange(int(totals[-1]) + 1)
        shares = hits / np.maximum(totals, 1)[:, None]
        self._table = np.searchsorted(RECALLS, shares.ravel(), side="right").astype(np.int8)
        kind = np.int32 if self._table.size < 2**31 else np.int64
        self._first = (column * len(hits)).astype(kind)  # where the numbers of each weighting begin in the table

    def newly_by(self, found: np.ndarray) -> np.ndarray:
        """Return how many recalls each row is the first to reach; `found` (rows, weightings) are true boxes so far."""
        recalls = self._table.take(found + self._first)
        newly = recalls.copy()
        newly[1:] -= recalls[:-1]
        return newly


def _running_sums(image: np.ndarray, rows: np.ndarray, often: np.ndarray) -> np.ndarray:
    """How often the detections are given up to each of the rows: (rows, weightings)."""
    starts = [0, *(rows[:-1] + 1).tolist()]
    if often.shape[1] < LONG:
        since_last = np.add.reduceat(often[image[: rows[-1] + 1]], starts, axis=0, dtype=often.dtype)
        return _running(np.add, since_last)
    sums = np.empty((len(rows), often.shape[1]), often.dtype)
    for start, row, total in zip(starts, rows.tolist(), sums, strict=True):
        if start == row:
            total[:] = often[image[row]]
        else:
            np.add.reduce(often.take(image[start : row + 1], axis=0), axis=0, out=total)
    return _running(np.add, sums)


def _running(operation: np.ufunc, rows: np.ndarray) -> np.ndarray:
    """`operation.accumulate` from each row to the next, in place."""
    if rows.shape[1] < LONG:
        return operation.accumulate(rows, axis=0, out=rows)
    for above, row in pairwise(rows):
        operation(above, row, out=row)
    return rows


def voc_precisions(predictions: BoxArrays, truth: BoxArrays) -> dict[str, float]:
    """Return `mAP_voc`, the area under the curve (VOC 2010 on), and `mAP_voc_11`, at eleven recalls (VOC 2007).

    They are counted at overlap 0.5 as the Object Detection API's `pascal_voc_metrics` does. Each detection, best first,
    is asked for the true box of its class that it overlaps most; if that one is taken already, the detection is wrong.
    COCO would give it the next one that is free. The numbers are means over the classes that have true boxes; without
    any, there is none. `predictions` are best first.
    """
    hits = _voc_hits(predictions, truth)
    areas, elevens = [], []
    for label in np.unique(truth.classes):
        hit = hits[predictions.classes == label]
        right = np.cumsum(hit)
        recall, precision = right / (truth.classes == label).sum(), right / np.arange(1, len(hit) + 1)
        areas.append(_area(recall, precision))
        elevens.append(_at_eleven(recall, precision))
    return {"mAP_voc": float(np.mean(areas)), "mAP_voc_11": float(np.mean(elevens))} if areas else {}


def _voc_hits(predictions: BoxArrays, truth: BoxArrays) -> np.ndarray:
    predicted_rows, true_rows, overlap = find_pairs(predictions, truth, same_class=True)
    order = np.lexsort((true_rows, -overlap, predicted_rows))
    first = np.flatnonzero(np.diff(predicted_rows[order], prepend=-1))  # of each detection, the most overlapped
    predicted_rows, true_rows, overlap = (rows[order][first] for rows in (predicted_rows, true_rows, overlap))
    close = overlap >= VOC_OVERLAP
    predicted_rows, true_rows = predicted_rows[close], true_rows[close]
    winners = np.unique(true_rows, return_index=True)[1]  # of those that want the same, the first: the best
    hits = np.zeros(len(predictions), bool)
    hits[predicted_rows[winners]] = True
    return hits


def _area(recall: np.ndarray, precision: np.ndarray) -> float:
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * best_from_here))


def _at_eleven(recall: np.ndarray, precision: np.ndarray) -> float:
    return float(np.mean([precision[recall >= at - 1e-9].max(initial=0.0) for at in ELEVEN]))
