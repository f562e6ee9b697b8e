"""A label that is probably wrong, and how sure a prediction must be before a label is doubted for it.

A network is often sure and wrong. So predictions are compared with all labels first: of those with a score of 0.9 or
more, perhaps 98 % agree with their label. Where few agree, a prediction that disagrees is no reason to doubt a label.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

AGREED = 0.8  # share of predictions that agree with their labels; chance must not explain it
FEWEST_SURE = 20  # predictions that the share is counted from
FEWEST_EXAMPLES = 30
NORMAL = 1.96  # standard deviations to each side that a 95 % interval reaches
Row = Mapping[str, Any]  # a row of examples.parquet


@dataclass(frozen=True)
class Suspect:
    file: str
    kind: str
    strength: float  # from 0 to 1
    label: str  # the label that the example has
    proposal: str  # the label that the models predict
    why: str
    true_box: int | None = None  # the doubted box's index among the true boxes of the example
    given: int | None = None  # the index of the prediction that contradicts it


@dataclass(frozen=True)
class LabelErrorFindings:
    suspects: tuple[Suspect, ...]  # strongest first
    ranking: tuple[str, ...]  # every example, also those without a suspect, the most suspicious first
    quality: str  # how good the predictions are, in words
    silences: tuple[str, ...] = ()  # which statements are not made, and why


def make_findings(
    suspects: list[Suspect], doubts: Mapping[str, float], quality: str, silences: tuple[str, ...] = ()
) -> LabelErrorFindings:
    """Return suspects and examples in order. `doubts` has how far the predictions contradict each example's label."""
    ordered = sorted(suspects, key=lambda one: (-one.strength, one.file))
    first = list(dict.fromkeys(one.file for one in ordered))
    rest = sorted(doubts.keys() - set(first), key=lambda file: (-doubts[file], file))
    return LabelErrorFindings(tuple(ordered), (*first, *rest), quality, silences)


class Agreement:
    """How often predictions agree with the labels, by how sure they are."""

    def __init__(self, scores: np.ndarray, agrees: np.ndarray) -> None:
        order = np.argsort(-scores, kind="stable")
        sorted_scores, total, agreed = scores[order], np.arange(1, len(scores) + 1), np.cumsum(agrees[order])
        is_last = np.append(np.diff(sorted_scores) != 0, True)[: len(scores)]  # of equal scores
        enough = is_last & (total >= FEWEST_SURE) & (lower_end(agreed, total) >= AGREED)
        # Scores below the best of these agree less often than asked.
        worth = np.where(enough, agreed - AGREED * total, -np.inf)
        last = int(worth.argmax()) if enough.any() else None
        self.least = None if last is None else float(sorted_scores[last])  # from which score on they agree
        self.share = 0.0 if last is None else float(agreed[last] / total[last])

    def is_sure(self, score: float) -> bool:
        return self.least is not None and score >= self.least

    def describe(self) -> str:
        """Return a sentence on how often predictions agree with labels."""
        return f"predictions of {self.least or 0:.2f} and more agree with {100 * self.share:.0f} % of their labels"


def lower_end(hits: np.ndarray | int, total: np.ndarray | int) -> np.ndarray:
    """Return the lower end of Wilson's 95 % interval of a share."""
    count = np.maximum(np.asarray(total, np.float64), 1)
    share, square = np.asarray(hits) / count, NORMAL**2
    half = NORMAL * np.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return (share + square / (2 * count) - half) / (1 + square / count)
