"""Average precision from detections in order of their scores, for many weightings of the images at once.

A weight says how often an image counts. With all of them 1 the numbers are COCO's; drawn at random they are those of
resampled images, without counting anything anew.
"""

import numpy as np

RECALLS = np.linspace(0, 1, 101)


def average_precisions(
    image: np.ndarray, hits: np.ndarray, true_counts: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Average precision and highest recall of one class, (overlaps, weightings); NaN where it has no true boxes.

    Of the class's detections, best first: image (d,), hits (d, overlaps). Of the images: true_counts (images,),
    weights (weightings, images).
    """
    true = weights @ true_counts  # (weightings,)
    given = np.cumsum(weights[:, image], axis=1)
    needed = _hits_needed(true)
    precisions, recalls = np.zeros((2, hits.shape[1], len(weights)))
    for column, hit in enumerate(hits.T):
        rows = np.flatnonzero(hit)  # between them precision only falls and recall stays
        if not len(rows):
            continue
        found = np.cumsum(weights[:, image[rows]], axis=1)
        precision = found / np.maximum(given[:, rows], 1)
        precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        precisions[column] = _at(precision, found, needed).mean(axis=1)
        recalls[column] = found[:, -1] / np.maximum(true, 1)
    nothing = np.where(true > 0, 0.0, np.nan)
    return precisions + nothing, recalls + nothing


def _hits_needed(true: np.ndarray) -> np.ndarray:
    """The fewest hits that reach each recall, as floats divide: (weightings, recalls)."""
    total = np.maximum(true, 1)[:, None]
    fewest = np.ceil(RECALLS * total).astype(np.int64)
    fewest = np.where((fewest - 1) / total >= RECALLS, fewest - 1, fewest)
    return np.where(fewest / total < RECALLS, fewest + 1, fewest)


def _at(precision: np.ndarray, found: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """Precision where `found` first reaches `needed`, 0 where it never does: one search for all rows."""
    rows, length = found.shape
    apart = np.arange(rows)[:, None] * (int(max(found.max(), needed.max())) + 1)
    place = np.searchsorted((found + apart).ravel(), (needed + apart).ravel()).reshape(needed.shape)
    place = place - np.arange(rows)[:, None] * length
    reached = place < length
    return np.where(reached, np.take_along_axis(precision, np.minimum(place, length - 1), axis=1), 0.0)
