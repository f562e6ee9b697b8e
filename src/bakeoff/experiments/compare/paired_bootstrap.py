"""Is B better than A? Both are judged on the same bootstrap samples of their common examples, so what makes an example
hard weighs on both: a paired bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, chapters 8 and 13).

Classes are looked at all at once, by the largest of their studentised differences, so that among many none looks
different by chance more often than an interval promises (Westfall and Young, Resampling-Based Multiple Testing)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.evaluation.metric_meanings import is_higher_better
from bakeoff.experiments.compare.examples import Score
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.learning.metrics.intervals import SHARE, draw_weights, number_names

SMALLEST = 1e-12  # a difference below is none: sums of floats in another order
ALL = None  # classes together
Key = tuple[str, str | None]  # a number, and the class that it is of
Pair = tuple[np.ndarray, np.ndarray]  # of A and of B, a value for each bootstrap sample


@dataclass(frozen=True)
class PairedDifference:
    """How much more B has than A."""

    a: float
    b: float
    low: float
    high: float
    probability: float  # share of the bootstrap samples in which B is better, those where both are equal by half
    better: str | None  # "A", "B", or None: no difference shown
    deviation: float = 0.0  # of the difference, over the bootstrap samples

    @property
    def value(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class Differences:
    numbers: Mapping[str, PairedDifference]
    by_class: Mapping[str, Mapping[str, PairedDifference]]  # of a number, by class
    examples: int
    groups: int
    samples: int


def compare_scores(
    a: Score, b: Score, groups: Sequence[str], samples: int, classes: Collection[str] = ()
) -> Differences:
    """Draw the examples again and again, and count both scores on them. Both are of the same examples in the same
    order. `groups` names each example's group; `classes` are compared one by one."""
    seen = _values(a, b, [np.ones((1, len(groups)), np.int64)])
    drawn = _values(a, b, draw_weights(number_names(groups), samples, max(len(groups), _answers(a), _answers(b))))
    observed = {
        key: (float(one[0]), float(other[0]))
        for key, (one, other) in seen.items()
        if not np.isnan([one[0], other[0]]).any() and (key[1] is ALL or key[1] in classes)
    }
    names = list(dict.fromkeys(name for name, _ in observed))
    numbers = {name: _alone(name, observed[name, ALL], drawn[name, ALL]) for name in names if (name, ALL) in observed}
    by_class = {}
    for name in names:
        labels = [label for key, label in observed if key == name and label is not ALL]
        by_class[name] = _together(name, labels, observed, drawn) if labels else {}
    return Differences(numbers, by_class, len(groups), len(set(groups)), samples)


def _values(a: Score, b: Score, blocks: Iterable[np.ndarray]) -> dict[Key, Pair]:
    """Return the values of the numbers that both scores have."""
    parts: dict[Key, list[Pair]] = {}
    for weights in blocks:
        one, other = _by_key(*a.count_weighted(weights)), _by_key(*b.count_weighted(weights))
        for key in one:
            if key in other:
                parts.setdefault(key, []).append((one[key], other[key]))
    return {
        key: (np.concatenate([one for one, _ in pairs]), np.concatenate([other for _, other in pairs]))
        for key, pairs in parts.items()
    }


def _by_key(
    numbers: Mapping[str, np.ndarray], by_class: Mapping[str, Mapping[str, np.ndarray]]
) -> dict[Key, np.ndarray]:
    by_key: dict[Key, np.ndarray] = {(name, ALL): values for name, values in numbers.items()}
    return by_key | {(name, label): values for name, by_label in by_class.items() for label, values in by_label.items()}


def _alone(name: str, observed: tuple[float, float], drawn: Pair) -> PairedDifference:
    """The middle of the differences that were drawn."""
    more = drawn[1] - drawn[0]
    more = more[~np.isnan(more)]
    more[np.abs(more) < SMALLEST] = 0
    low, high = np.quantile(more, [(1 - SHARE) / 2, (1 + SHARE) / 2]) if len(more) else (np.nan, np.nan)
    return _judge(name, observed, float(low), float(high), more)


def _together(
    name: str, labels: Sequence[str], observed: Mapping[Key, tuple[float, float]], drawn: Mapping[Key, Pair]
) -> dict[str, PairedDifference]:
    """As many standard deviations around each class's difference as hold all of them in 95 % of the samples."""
    more = np.stack([drawn[name, label][1] - drawn[name, label][0] for label in labels])  # (classes, samples)
    more[np.abs(more) < SMALLEST] = 0
    centre = np.array([observed[name, label][1] - observed[name, label][0] for label in labels])
    known = ~np.isnan(more)
    count = np.maximum(known.sum(axis=1), 1)
    away = np.where(known, more - centre[:, None], 0)
    deviation = np.sqrt((away**2).sum(axis=1) / count)
    largest = (np.abs(away) / np.where(deviation > 0, deviation, 1)[:, None]).max(axis=0)
    reach = float(np.quantile(largest, SHARE)) * deviation
    low, high = (centre - reach).tolist(), (centre + reach).tolist()
    return {
        label: _judge(name, observed[name, label], low[at], high[at], more[at, known[at]])
        for at, label in enumerate(labels)
    }


def _judge(name: str, observed: tuple[float, float], low: float, high: float, more: np.ndarray) -> PairedDifference:
    higher = is_higher_better(name)
    above, equal = (more > 0).mean() if len(more) else 0.5, (more == 0).mean() if len(more) else 0.0
    probability = above + equal / 2 if higher is not False else 1 - above - equal / 2
    better = None
    if higher is not None and (low > 0 or high < 0):
        better = "B" if (low > 0) == higher else "A"
    deviation = float(more.std()) if len(more) else 0.0
    return PairedDifference(*observed, low, high, float(probability), better, deviation)


def _answers(score: Score) -> int:
    """Return how many rows a bootstrap sample of it makes."""
    return sum(len(boxes.classes) for boxes in score.predictions) if isinstance(score, DetectionScore) else 0
