"""Counts of what was taken for what.

ClassificationScore(("cat", "dog")).update([1, 2], [1, 1]) -> {"accuracy": 0.5, ...}
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Answer:
    """One example: true and given class, ids 1..k, and the probability of the given one."""

    truth: int
    given: int
    probability: float


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
        for answer in self.answers:
            table[answer.truth - 1, answer.given - 1] += 1
        return table

    def result(self) -> dict:
        """Accuracy, and recall by class for those classes that have examples."""
        table = self.confusion()
        seen = table.sum(axis=1)
        recall = {
            label: float(table[place, place] / seen[place]) for place, label in enumerate(self.classes) if seen[place]
        }
        return {"accuracy": float(np.trace(table) / max(1, seen.sum())), "recall": recall}

    def rows(self) -> list[dict]:
        return [
            {
                "example": number,
                "truth": self.classes[answer.truth - 1],
                "given": self.classes[answer.given - 1],
                "probability": round(answer.probability, 6),
            }
            for number, answer in enumerate(self.answers)
        ]

    def plots(self) -> dict[str, list[dict]]:
        """One row an example, which is what `dvc plots` counts a confusion matrix from."""
        return {"confusion": [{"actual": row["truth"], "predicted": row["given"]} for row in self.rows()]}
