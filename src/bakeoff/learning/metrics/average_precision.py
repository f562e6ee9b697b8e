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
    rows = np.flatnonzero(hits.any(axis=1))  # in between precision only falls and recall stays
    if not len(rows):
        return precisions + nothing, recalls + nothing
    hits, drawn = hits[rows], often.take(image[rows], axis=0)
    given = np.maximum(_running(np.add, _given_since(image, rows, often)), 1).astype(float)  # (rows, weightings)
    reached = _RecallsReached(true)
    for column, hit in enumerate(hits.T):
        if not hit.any():
            continue
        chosen = np.flatnonzero(hit)
        newly_reached, boxes_reached = reached.by(_running_sums(drawn, chosen, reached.first))
        recalls[column] = boxes_reached[-1] / np.maximum(true, 1)
        highest = boxes_reached.astype(float)
        highest /= given if hit.all() else given.take(chosen, axis=0)
        _running(np.maximum, highest[::-1])  # from each detection on
        highest *= newly_reached
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
        self.first = (column * len(hits)).astype(kind)  # where the numbers of each weighting begin in the table

    def by(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many recalls each hit is the first to reach, and how many true boxes are reached with it.

        `places` (hits, weightings) are numbers of true boxes, each plus `first`; they are overwritten.
        """
        recalls = self._table.take(places)
        newly = recalls.copy()
        newly[1:] -= recalls[:-1]
        return newly, np.subtract(places, self.first, out=places)


def _running_sums(values: np.ndarray, rows: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the sums of `first` and the values of each row and of all rows before it."""
    if values.shape[1] < LONG:
        chosen = values[rows].astype(first.dtype)
        chosen[0] += first
        return np.add.accumulate(chosen, axis=0, out=chosen)
    sums = np.empty((len(rows), values.shape[1]), first.dtype)
    above = first
    for row, total in zip(rows.tolist(), sums, strict=True):
        np.add(above, values[row], out=total)
        above = total
    return sums


def _given_since(image: np.ndarray, rows: np.ndarray, often: np.ndarray) -> np.ndarray:
    """How often detections are given up to each of the rows, from the row before on: (rows, weightings)."""
    if often.shape[1] < LONG:
        starts = [0, *(rows[:-1] + 1).tolist()]
        return np.add.reduceat(often[image[: rows[-1] + 1]], starts, axis=0, dtype=often.dtype)
    given = np.empty((len(rows), often.shape[1]), often.dtype)
    first = 0
    for since_last, row in zip(given, rows.tolist(), strict=True):
        if first == row:
            since_last[:] = often[image[row]]
        else:
            np.add.reduce(often.take(image[first : row + 1], axis=0), axis=0, out=since_last)
        first = row + 1
    return given


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
