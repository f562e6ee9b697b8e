"""What was taken for what, how sure, and how far the truth was from the top.

ClassificationScore(("cat", "dog")).update([Answer(truth=1, given=2, probability=0.7, true_probability=0.3, rank=1)])
-> {"accuracy": 0.0, "loss": 1.2, "ece": 0.7, "recall": {"cat": 0.0}, ...}
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bakeoff.learning.metrics.curves import calibration_errors, reliability
from bakeoff.learning.metrics.intervals import Intervals, Numbers, find_intervals
from bakeoff.learning.metrics.score import ByClass, Column, Texts, count_added

TOP = 5
LEAST = 1e-12  # a probability below is counted as this much, so that one example's loss does not drown all others'


@dataclass(frozen=True)
class Answer:
    """One example: true and given class, ids 1..k, their probabilities, how many classes were above the true one."""

    truth: int
    given: int
    probability: float
    true_probability: float
    rank: int


def make_answers(truth: np.ndarray, probabilities: np.ndarray) -> list[Answer]:
    """From true ids (n,) and probabilities (n, k); of equally probable classes the first is given."""
    rows = np.arange(len(truth))
    given, of_true = probabilities.argmax(axis=1), probabilities[rows, truth - 1]
    above = probabilities > of_true[:, None]
    above |= (probabilities == of_true[:, None]) & (np.arange(probabilities.shape[1]) < truth[:, None] - 1)
    columns = (truth, given + 1, probabilities[rows, given], of_true, above.sum(axis=1))
    return [Answer(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


@dataclass(frozen=True)
class ClassificationScore:
    classes: tuple[str, ...]
    answers: tuple[Answer, ...] = field(default=())

    def update(self, answers: list[Answer]) -> "ClassificationScore":
        return ClassificationScore(self.classes, (*self.answers, *answers))

    def __add__(self, other: "ClassificationScore") -> "ClassificationScore":
        return ClassificationScore(self.classes, self.answers + other.answers)

    def confusion(self) -> np.ndarray:
        """(true, given) counts, (k, k)."""
        table = np.zeros((len(self.classes), len(self.classes)), np.int64)
        np.add.at(table, (self._column("truth") - 1, self._column("given") - 1), 1)
        return table

    def result(self) -> dict:
        """A number that has nothing to be counted on is left out: the recall of a class without examples, the
        precision of one that is never given. The macro numbers are means over the classes with examples."""
        if not self.answers:
            return {"precision": {}, "recall": {}, "f1": {}}
        once = np.ones((1, len(self.answers)), np.int64)
        counted = {name: float(values[0]) for name, values in self._numbers(once).items()}
        numbers: dict = {name: value for name, value in counted.items() if not np.isnan(value)}
        table = self.confusion()
        right, seen, given = np.diag(table), table.sum(axis=1), table.sum(axis=0)
        return numbers | {
            "precision": self._shares(right, given),
            "recall": self._shares(right, seen),
            "f1": self._shares(2 * right, seen + given),
        }

    def intervals(self, groups: Sequence[str], samples: int) -> Intervals:
        return find_intervals(self._numbers, groups, samples, size=len(groups) + len(self.classes))

    def count_weighted(self, weights: np.ndarray) -> tuple[Numbers, ByClass]:
        """All numbers, and of each class the share that is right, for (weightings, examples): how often each counts."""
        truth = np.eye(len(self.classes))[self._column("truth") - 1]
        right, seen = weights @ (truth * self._right[:, None]), weights @ truth
        shares = np.where(seen > 0, right / np.maximum(seen, 1), np.nan)
        by_class = {label: shares[:, at] for at, label in enumerate(self.classes) if truth[:, at].any()}
        return self._numbers(weights), {"accuracy": by_class}

    def columns(self) -> dict[str, Column]:
        return {
            "truth": Texts(self.classes, self._column("truth") - 1),
            "prediction": Texts(self.classes, self._column("given") - 1),
            "score": self._column("probability"),
            "true_score": self._column("true_probability"),
            "rank": self._column("rank"),
            "loss": self.losses,
        }

    def worst_first(self) -> np.ndarray:
        """By loss: first what was surest and wrong, last what was surest and right."""
        return np.argsort(-self.losses, kind="stable")

    def plots(self) -> dict[str, list[dict]]:
        """One row an example, which is what `dvc plots` counts a confusion matrix from; and how sure is how right."""
        names = [(self.classes[answer.truth - 1], self.classes[answer.given - 1]) for answer in self.answers]
        rows = reliability(self._column("probability"), self._right) if self.answers else []
        return {
            "confusion": [{"actual": truth, "predicted": given} for truth, given in names],
            "calibration": rows,
        }

    @cached_property
    def losses(self) -> np.ndarray:
        """Minus the logarithm of the true class's probability, (examples,)."""
        return -np.log(np.maximum(self._column("true_probability"), LEAST))

    @cached_property
    def _right(self) -> np.ndarray:
        return self._column("truth") == self._column("given")

    def _numbers(self, weights: np.ndarray) -> Numbers:
        """For (weightings, examples): how often each example counts."""
        total = weights.sum(axis=1)
        numbers = {"accuracy": weights @ self._right / total}
        if len(self.classes) > TOP:
            numbers["top_5"] = weights @ (self._column("rank") < TOP) / total
        numbers["loss"] = weights @ self.losses / total
        numbers["ece"] = calibration_errors(self._column("probability"), self._right, weights)
        one_hot = np.eye(len(self.classes))
        truth, given = one_hot[self._column("truth") - 1], one_hot[self._column("given") - 1]
        right, seen, answered = weights @ (truth * given), weights @ truth, weights @ given
        for name, part, whole in (
            ("precision", right, answered),
            ("recall", right, seen),
            ("f1", 2 * right, seen + answered),
        ):
            of_class = part / np.maximum(whole, 1)
            numbers[f"macro_{name}"] = np.where(seen > 0, of_class, 0).sum(axis=1) / (seen > 0).sum(axis=1)
        return numbers | count_added("one_label", self.columns, weights)

    def _column(self, name: str) -> np.ndarray:
        return np.array(
            [getattr(answer, name) for answer in self.answers], float if "probability" in name else np.int64
        )

    def _shares(self, part: np.ndarray, whole: np.ndarray) -> dict[str, float]:
        return {label: float(part[at] / whole[at]) for at, label in enumerate(self.classes) if whole[at]}
