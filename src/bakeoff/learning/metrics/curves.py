"""Scored answers -> what a score threshold makes of them, areas under curves, and how honest the scores are.

curve = PrecisionRecallCurve.from_scores(np.array([0.9, 0.8]), np.array([True, False]), total=2)
curve.best() -> Working(0.9, 1.0, 0.5, 0.67)
"""

from dataclasses import dataclass

import numpy as np

GRID = np.arange(101) / 100  # linspace has 0.7000000000000001
BINS = 15  # of probabilities


@dataclass(frozen=True)
class Working:
    """At `threshold`: answers that score at least so much are given, the others are not."""

    threshold: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """One point for each score that occurs, from the highest down."""

    thresholds: np.ndarray
    given: np.ndarray  # how many answers reach the threshold
    right: np.ndarray  # how many of those are correct
    total: int  # how many correct answers exist

    @classmethod
    def from_scores(cls, scores: np.ndarray, right: np.ndarray, total: int) -> "PrecisionRecallCurve":
        """Take answers in any order, whether each is right, and how many right ones there are to be given."""
        order, last_of_equals = _rank(scores)
        thresholds = scores[order][last_of_equals]
        return cls(thresholds, last_of_equals + 1, np.cumsum(right[order])[last_of_equals], total)

    @property
    def precision(self) -> np.ndarray:
        return self.right / self.given

    @property
    def recall(self) -> np.ndarray:
        return self.right / max(1, self.total)

    @property
    def f1(self) -> np.ndarray:
        return 2 * self.right / np.maximum(self.given + self.total, 1)

    def best(self) -> Working | None:
        """The highest threshold of those with the highest F1; None if nothing right is ever given."""
        if not self.right.any():
            return None
        place = int(self.f1.argmax())
        values = (self.thresholds, self.precision, self.recall, self.f1)
        return Working(*(float(value[place]) for value in values))

    def rows(self) -> list[dict[str, float]]:
        """At thresholds 0, 0.01, … 1; nothing given is nothing wrong, precision 1."""
        place = np.searchsorted(-self.thresholds, -GRID, side="right") - 1  # the last that scores enough
        rows = []
        for threshold, last in zip(GRID, place, strict=True):
            given, right = (int(self.given[last]), int(self.right[last])) if last >= 0 else (0, 0)
            rows.append(
                {
                    "threshold": round(float(threshold), 2),
                    "f1": round(2 * right / max(1, given + self.total), 4),
                    "precision": round(right / given, 4) if given else 1.0,
                    "recall": round(right / max(1, self.total), 4),
                }
            )
        return rows


def average_precisions(right: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the area under the curve of precision over recall, (weightings,), NaN without a right answer.

    It is the precision at each score at which recall rises, weighted by that rise. `right` and `scores` are (n,);
    weights (weightings, n) say how often each answer counts.
    """
    hits, misses = _count_down(right, scores, weights)
    total = hits[:, -1:] if hits.size else np.zeros((len(weights), 1))
    rises = np.diff(hits, prepend=0, axis=1)
    return _divide((rises * hits / np.maximum(hits + misses, 1)).sum(axis=1), total[:, 0])


def areas_under_roc(right: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the chance that a right answer scores above a wrong one, NaN without one of either.

    Equal scores count half, so that their order decides nothing.
    """
    hits, misses = _count_down(right, scores, weights)
    more_hits, more_misses = np.diff(hits, prepend=0, axis=1), np.diff(misses, prepend=0, axis=1)
    below = misses[:, -1:] - misses if misses.size else misses  # wrong ones that score less
    ordered = (more_hits * (below + more_misses / 2)).sum(axis=1)
    return _divide(ordered, more_hits.sum(axis=1) * more_misses.sum(axis=1))


def calibration_errors(probability: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the expected calibration error (Guo et al., arXiv:1706.04599), (weightings,).

    Answers (n,) are sorted into bins by their probability. The error is the mean distance between a bin's mean
    probability and its share of right answers, each bin by its share of the answers. Weights are (weightings, n).
    """
    in_bin = np.eye(BINS)[_find_bins(probability)]
    distances = np.abs(weights @ (in_bin * (probability - right)[:, None]))
    return distances.sum(axis=1) / np.maximum(weights.sum(axis=1), 1)


def reliability(probability: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """Return a row for each bin that has answers: their mean probability, the share of right ones, how many."""
    bins = _find_bins(probability)
    return [
        {
            "probability": round(float(probability[bins == number].mean()), 4),
            "accuracy": round(float(right[bins == number].mean()), 4),
            "examples": int((bins == number).sum()),
        }
        for number in np.unique(bins)
    ]


def _find_bins(probability: np.ndarray) -> np.ndarray:
    """0 to 14; a probability on an edge belongs below, as the paper has it."""
    return np.clip(np.ceil(probability * BINS).astype(np.int64) - 1, 0, BINS - 1)


def _rank(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order from the highest score down, and in it the last place of each score that occurs."""
    order = np.argsort(-scores, kind="stable")
    return order, np.flatnonzero(np.diff(scores[order], append=-np.inf))


def _count_down(right: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count right and wrong answers from the highest score down to each that occurs: (weightings, scores)."""
    order, last_of_equals = _rank(scores)
    counts = weights[:, order]
    hits = np.cumsum(counts * right[order], axis=1)[:, last_of_equals]
    return hits, np.cumsum(counts, axis=1)[:, last_of_equals] - hits


def _divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
