"""What a score threshold makes of scored answers: precision, recall and F1, and where F1 is highest.

Curve.of(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), total=2).best() -> Working(0.7, 0.67, 1.0, 0.8)
"""

from dataclasses import dataclass

import numpy as np

GRID = np.arange(101) / 100  # linspace has 0.7000000000000001


@dataclass(frozen=True)
class Working:
    """At `threshold`: answers that score at least so much are given, the others are not."""

    threshold: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Curve:
    """One point for each score that occurs, from the highest down."""

    thresholds: np.ndarray
    given: np.ndarray  # answers
    right: np.ndarray  # of them
    total: int  # right ones that there are

    @classmethod
    def of(cls, scores: np.ndarray, right: np.ndarray, total: int) -> "Curve":
        """Of answers in any order, whether each is right, and how many right ones there are to be given."""
        order = np.argsort(-scores, kind="stable")
        falling = scores[order]
        last_of_equals = np.flatnonzero(np.diff(falling, append=-np.inf))
        return cls(falling[last_of_equals], last_of_equals + 1, np.cumsum(right[order])[last_of_equals], total)

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
        found = []
        for threshold, last in zip(GRID, place, strict=True):
            given, right = (int(self.given[last]), int(self.right[last])) if last >= 0 else (0, 0)
            found.append({
                "threshold": round(float(threshold), 2),
                "f1": round(2 * right / max(1, given + self.total), 4),
                "precision": round(right / given, 4) if given else 1.0,
                "recall": round(right / max(1, self.total), 4),
            })  # fmt: skip
        return found
