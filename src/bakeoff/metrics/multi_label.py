"""How well scores of many yes-or-no questions an example put the labels that are right above those that are not.

MultiLabelScore(("cat", "dog")).update([[True, False]], [[0.9, 0.2]]) -> {"mean_average_precision": 1.0, ...}

All but the numbers at a threshold come from the scores as they are; nothing is rounded to yes or no before.
"""

from dataclasses import dataclass, field

import numpy as np

THRESHOLD = 0.5
MOST_POINTS = 101  # of a curve


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

        Precision, recall and F1 count all decisions together, from a score of 0.5 on. A number that has nothing to
        be counted on is None.
        """
        truth, scores = self._tables()
        columns = list(zip(self.classes, truth.T, scores.T, strict=True))
        precisions = {label: average_precision(right, given) for label, right, given in columns if right.any()}
        areas = {
            label: area_under_roc(right, given) for label, right, given in columns if right.any() and not right.all()
        }
        given = scores >= THRESHOLD
        hits = int((given & truth).sum())
        return {
            "mean_average_precision": _mean(precisions),
            "mean_auc": _mean(areas),
            "f1": _share(2 * hits, int(given.sum() + truth.sum())),
            "precision": _share(hits, int(given.sum())),
            "recall": _share(hits, int(truth.sum())),
            "average_precision": precisions,
            "auc": areas,
        }

    def rows(self) -> list[dict]:
        return [
            {
                "example": number,
                "truth": [label for label, right in zip(self.classes, example.truth, strict=True) if right],
                "scores": {label: round(score, 6) for label, score in zip(self.classes, example.scores, strict=True)},
            }
            for number, example in enumerate(self.examples)
        ]

    def plots(self) -> dict[str, list[dict]]:
        """Precision at each recall, of all decisions together."""
        truth, scores = self._tables()
        if not truth.any():
            return {"precision_recall": []}
        recalls, precisions = _curve(truth.ravel(), scores.ravel())
        chosen = np.unique(np.linspace(0, len(recalls) - 1, MOST_POINTS).astype(int))
        curve = zip(recalls[chosen], precisions[chosen], strict=True)
        return {"precision_recall": [{"recall": round(float(r), 4), "precision": round(float(p), 4)} for r, p in curve]}

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        shape = (len(self.examples), len(self.classes))
        truth = np.array([example.truth for example in self.examples], bool).reshape(shape)
        return truth, np.array([example.scores for example in self.examples], float).reshape(shape)


def average_precision(truth: np.ndarray, scores: np.ndarray) -> float:
    """Precision at each score at which recall rises, weighted by that rise; some of `truth` (n,) is true."""
    recalls, precisions = _curve(truth, scores)
    return float(np.sum(np.diff(recalls, prepend=0.0) * precisions))


def area_under_roc(truth: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a right example scores above a wrong one, equal scores counting half; `truth` has both."""
    wrong = np.sort(scores[~truth])
    below, up_to = (np.searchsorted(wrong, scores[truth], side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2 / len(wrong))


def _curve(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision from the highest score down, equal scores taken together."""
    order = np.argsort(-scores, kind="stable")
    last_of_equals = np.flatnonzero(np.diff(scores[order], append=-np.inf))
    hits = np.cumsum(truth[order])[last_of_equals]
    return hits / truth.sum(), hits / (last_of_equals + 1)


def _mean(by_class: dict[str, float]) -> float | None:
    return float(np.mean(list(by_class.values()))) if by_class else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
