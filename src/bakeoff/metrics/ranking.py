"""How well scores put what is right above what is not: areas under two curves, for many weightings at once.

Scores stay as they are; equal ones are taken together, so that their order decides nothing.
"""

import numpy as np


def average_precisions(right: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Precision at each score at which recall rises, weighted by that rise: (weightings,), NaN without a right one.

    `right` and `scores` are (n,); weights (weightings, n) say how often each counts.
    """
    hits, misses = _cumulated(right, scores, weights)
    total = hits[:, -1:] if hits.size else np.zeros((len(weights), 1))
    rises = np.diff(hits, prepend=0, axis=1)
    area = (rises * hits / np.maximum(hits + misses, 1)).sum(axis=1)
    return _divided(area, total[:, 0])


def areas_under_roc(right: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The chance that a right one scores above a wrong one, equal scores counting half; NaN without one of either."""
    hits, misses = _cumulated(right, scores, weights)
    more_hits, more_misses = np.diff(hits, prepend=0, axis=1), np.diff(misses, prepend=0, axis=1)
    below = misses[:, -1:] - misses if misses.size else misses  # wrong ones that score less
    ordered = (more_hits * (below + more_misses / 2)).sum(axis=1)
    return _divided(ordered, more_hits.sum(axis=1) * more_misses.sum(axis=1))


def _cumulated(right: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong ones from the highest score down to each that occurs: (weightings, scores)."""
    order = np.argsort(-scores, kind="stable")
    last_of_equals = np.flatnonzero(np.diff(scores[order], append=-np.inf))
    counts = weights[:, order]
    hits = np.cumsum(counts * right[order], axis=1)[:, last_of_equals]
    return hits, np.cumsum(counts, axis=1)[:, last_of_equals] - hits


def _divided(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
