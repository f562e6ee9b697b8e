"""A detector at the score threshold where its F1 is highest: what it gives there, and what is wrong with it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bakeoff.metrics.detection_errors import Errors, errors_of
from bakeoff.metrics.matches import Matches
from bakeoff.metrics.thresholds import Curve, Working

NEVER = Working(1.0, 0.0, 0.0, 0.0)  # no threshold makes anything right; at 1 the least is wrong


@dataclass(frozen=True)
class WorkingPoint:
    best: Working
    given: Matches
    errors: Errors

    @classmethod
    def of(cls, matches: Matches) -> "WorkingPoint":
        best = Curve.of(matches.found.scores, matches.right, len(matches.truth)).best() or NEVER
        given = matches.from_score(best.threshold)
        return cls(best, given, errors_of(given))

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Right, given and true boxes in each image."""
        given = self.given
        right, all_given = (
            np.bincount(rows, minlength=given.images) for rows in (given.found.image[given.right], given.found.image)
        )
        return right, all_given, given.true_counts()

    @cached_property
    def f1(self) -> np.ndarray:
        """Of each image; 1 where there is nothing and nothing is given."""
        right, given, true = self.counts
        return np.where(given + true > 0, 2 * right / np.maximum(given + true, 1), 1.0)

    def worst_first(self) -> np.ndarray:
        """Images by F1, of equal ones those with more errors, then those whose right detections are less sure."""
        right, given, true = self.counts
        found = self.given.found[self.given.right]
        sure = np.bincount(found.image, found.scores, minlength=self.given.images)
        return np.lexsort((sure, 2 * right - given - true, self.f1))
