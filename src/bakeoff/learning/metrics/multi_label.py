"""How well scores of many yes-or-no questions an example put the labels that are right above those that are not.

MultiLabelScore(("cat", "dog")).update([[True, False]], [[0.9, 0.2]]) -> {"mean_average_precision": 1.0, ...}

All but the numbers at a threshold come from the scores as they are; nothing is rounded to yes or no before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from bakeoff.learning.metrics.curves import PrecisionRecallCurve, areas_under_roc, average_precisions, reliability
from bakeoff.learning.metrics.intervals import Intervals, Numbers, find_intervals
from bakeoff.learning.metrics.score import ByClass, Column, Lists, Texts, average_known, count_added

THRESHOLD = 0.5
MOST_POINTS = 101  # of a curve
MOST_ERRORS = 20  # labels that were missed or given wrongly, in a table
LEAST = 1e-12


@dataclass(frozen=True)
class Scored:
    """One example: for each class whether it is right, and its score."""

    truth: tuple[bool, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class MultiLabelScore:
    classes: tuple[str, ...]
    examples: tuple[Scored, ...] = field(default=())

    def update(self, truth: np.ndarray, scores: np.ndarray) -> "MultiLabelScore":
        """Both (examples, classes)."""
        pairs = zip(np.asarray(truth, bool).tolist(), np.asarray(scores, float).tolist(), strict=True)
        added = tuple(Scored(tuple(right), tuple(given)) for right, given in pairs)
        return MultiLabelScore(self.classes, self.examples + added)

    def __add__(self, other: "MultiLabelScore") -> "MultiLabelScore":
        return MultiLabelScore(self.classes, self.examples + other.examples)

    def result(self) -> dict:
        """Means over the classes that have what it takes: right examples, for the area under ROC also wrong ones.

        Precision, recall and F1 count all decisions together, from a score of 0.5 on; `best_f1` is what the best
        threshold would give. A number that has nothing to be counted on is left out.
        """
        truth, scores = self._tables
        numbers: dict = self._once(self._numbers)
        best = PrecisionRecallCurve.from_scores(scores.ravel(), truth.ravel(), int(truth.sum())).best()
        if best:
            numbers |= {"best_f1": best.f1, "best_threshold": best.threshold}
        numbers["average_precision"] = self._once(partial(self._by_class, average_precisions))
        numbers["auc"] = self._once(partial(self._by_class, areas_under_roc))
        curves = {
            label: PrecisionRecallCurve.from_scores(scores[:, at], truth[:, at], int(truth[:, at].sum())).best()
            for at, label in enumerate(self.classes)
            if truth[:, at].any()
        }
        numbers["class_f1"] = {label: point.f1 for label, point in curves.items() if point}
        numbers["class_threshold"] = {label: point.threshold for label, point in curves.items() if point}
        return numbers

    def intervals(self, groups: Sequence[str], samples: int) -> Intervals:
        return find_intervals(self._numbers, groups, samples)

    def count_weighted(self, weights: np.ndarray) -> tuple[Numbers, ByClass]:
        """All numbers, and those that each class has, for (weightings, examples): how often each example counts."""
        of_classes = {
            "mean_average_precision": self._by_class(average_precisions, weights),
            "mean_auc": self._by_class(areas_under_roc, weights),
        }
        return self._numbers(weights), of_classes

    def columns(self) -> dict[str, Column]:
        """`score` is the mean, over the classes, of the probability given to the right answer, yes or no."""
        truth, scores = self._tables
        return {
            "truth": self._name_labels(truth),
            "prediction": self._name_labels(scores >= THRESHOLD),
            "score": np.where(truth, scores, 1 - scores).mean(axis=1) if self.classes else np.zeros(len(scores)),
            "scores": Lists(np.full(len(scores), len(self.classes)), scores.ravel()),
            "loss": self.losses,
        }

    def worst_first(self) -> np.ndarray:
        return np.argsort(-self.losses, kind="stable")

    def plots(self) -> dict[str, list[dict]]:
        """Precision at each recall and what a threshold gives, of all decisions together; how sure is how right; the
        most frequent errors."""
        truth, scores = self._tables
        total = int(truth.sum())
        if not total:
            return {"precision_recall": [], "threshold": [], "calibration": []}
        curve = PrecisionRecallCurve.from_scores(scores.ravel(), truth.ravel(), total)
        chosen = np.unique(np.linspace(0, len(curve.given) - 1, MOST_POINTS).astype(int))
        points = zip(curve.recall[chosen], curve.precision[chosen], strict=True)
        return {
            "precision_recall": [{"recall": round(float(r), 4), "precision": round(float(p), 4)} for r, p in points],
            "threshold": curve.rows(),
            "calibration": reliability(scores.ravel(), truth.ravel()),
            "errors": self._errors(),
        }

    @cached_property
    def losses(self) -> np.ndarray:
        """Mean over the classes of minus the logarithm of the right answer's probability, (examples,)."""
        truth, scores = self._tables
        right = np.where(truth, scores, 1 - scores)
        return -np.log(np.maximum(right, LEAST)).mean(axis=1) if self.classes else np.zeros(len(truth))

    def _errors(self) -> list[dict]:
        """Of each label how often it was missed and how often it was given wrongly."""
        truth, scores = self._tables
        given = scores >= THRESHOLD
        counts = {
            f"{label} missed": int(count)
            for label, count in zip(self.classes, (truth & ~given).sum(axis=0), strict=True)
        }
        counts |= {
            f"{label} given wrongly": int(n)
            for label, n in zip(self.classes, (given & ~truth).sum(axis=0), strict=True)
        }
        often = sorted(counts.items(), key=lambda item: -item[1])[:MOST_ERRORS]
        return [{"kind": kind, "count": count} for kind, count in often if count]

    def _numbers(self, weights: np.ndarray) -> Numbers:
        """For (weightings, examples): how often each example counts."""
        truth, scores = self._tables
        given = scores >= THRESHOLD
        right, answered, there = (weights @ part.sum(axis=1) for part in (given & truth, given, truth))
        numbers = {
            "mean_average_precision": _mean(self._by_class(average_precisions, weights), weights),
            "mean_auc": _mean(self._by_class(areas_under_roc, weights), weights),
        }
        for name, part, whole in (
            ("f1", 2 * right, answered + there),
            ("precision", right, answered),
            ("recall", right, there),
        ):
            numbers[name] = np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
        numbers["loss"] = weights @ self.losses / np.maximum(weights.sum(axis=1), 1)
        return numbers | count_added("several_labels", self.columns, weights)

    def _by_class(self, values: Callable[..., np.ndarray], weights: np.ndarray) -> Numbers:
        truth, scores = self._tables
        return {label: values(truth[:, at], scores[:, at], weights) for at, label in enumerate(self.classes)}

    def _once(self, numbers: Callable[[np.ndarray], Numbers]) -> dict[str, float]:
        """Where every example counts once."""
        if not self.examples:
            return {}
        values = numbers(np.ones((1, len(self.examples)), np.int64))
        return {name: float(value[0]) for name, value in values.items() if not np.isnan(value[0])}

    @cached_property
    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        shape = (len(self.examples), len(self.classes))
        truth = np.array([example.truth for example in self.examples], bool).reshape(shape)
        return truth, np.array([example.scores for example in self.examples], float).reshape(shape)

    def _name_labels(self, chosen: np.ndarray) -> Lists:
        return Lists(chosen.sum(axis=1), Texts(self.classes, np.nonzero(chosen)[1]))


def _mean(by_class: Numbers, weights: np.ndarray) -> np.ndarray:
    return average_known(list(by_class.values())) if by_class else np.full(len(weights), np.nan)
