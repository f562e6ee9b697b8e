"""Average precision from detections in order of their scores, for many weightings of the images at once.

A weight says how often an image counts. With all of them 1 the numbers are COCO's; drawn at random they are those of
resampled images, without counting anything anew.
"""

from itertools import pairwise

import numpy as np

RECALLS = np.linspace(0, 1, 101)
LONG = 32  # weightings from which on one call for each row is faster than one for all


def average_precisions(
    image: np.ndarray, hits: np.ndarray, true_counts: np.ndarray, often: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Average precision and highest recall of one class, (overlaps, weightings); NaN where it has no true boxes.

    Of the class's detections, best first: image (d,), hits (d, overlaps). Of the images: true_counts (images,), and how
    often each counts, (images, weightings).
    """
    true = true_counts @ often  # (weightings,)
    nothing = np.where(true > 0, 0.0, np.nan)
    precisions, recalls = np.zeros((2, hits.shape[1], often.shape[1]))
    rows = np.flatnonzero(hits.any(axis=1))  # in between precision only falls and recall stays
    if not len(rows):
        return precisions + nothing, recalls + nothing
    hits, drawn = hits[rows], often[image[rows]]
    given = np.maximum(_running(np.add, _given_since(image, rows, often)), 1).astype(float)  # (rows, weightings)
    reached = _RecallsReached(true)
    for column, hit in enumerate(hits.T):
        if not hit.any():
            continue
        found = _running(np.add, drawn[hit])
        highest_from_here = _running(np.maximum, (found / given[hit])[::-1])[::-1]
        newly_reached = np.diff(reached.by(found), axis=0, prepend=np.int8(0))
        precisions[column] = (highest_from_here * newly_reached).sum(axis=0) / len(RECALLS)
        recalls[column] = found[-1] / np.maximum(true, 1)
    return precisions + nothing, recalls + nothing


class _RecallsReached:
    """How many of RECALLS so many hits reach, compared as COCO compares them, as floats; looked up."""

    def __init__(self, true: np.ndarray) -> None:
        totals, self._column = np.unique(true, return_inverse=True)
        hits = np.arange(int(totals[-1]) + 1)[:, None]
        self._columns = len(totals)
        self._table = np.searchsorted(RECALLS, (hits / np.maximum(totals, 1)).ravel(), side="right").astype(np.int8)

    def by(self, found: np.ndarray) -> np.ndarray:
        """(n, weightings) hits of as many true boxes as each weighting has."""
        return self._table[found * self._columns + self._column]


def _given_since(image: np.ndarray, rows: np.ndarray, often: np.ndarray) -> np.ndarray:
    """How often detections are given up to each of the rows, from the row before on: (rows, weightings)."""
    starts = [0, *(rows[:-1] + 1).tolist()]
    if often.shape[1] < LONG:
        return np.add.reduceat(often[image[: rows[-1] + 1]], starts, axis=0, dtype=often.dtype)
    given = np.empty((len(rows), often.shape[1]), often.dtype)
    for since_last, first, row in zip(given, starts, rows.tolist(), strict=True):
        np.add.reduce(often[image[first : row + 1]], axis=0, out=since_last)
    return given


def _running(operation: np.ufunc, rows: np.ndarray) -> np.ndarray:
    """`operation.accumulate` from each row to the next, in place."""
    if rows.shape[1] < LONG:
        return operation.accumulate(rows, axis=0, out=rows)
    for above, row in pairwise(rows):
        operation(above, row, out=row)
    return rows
