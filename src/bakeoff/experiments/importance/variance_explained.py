"""Configurations in groups -> how much of a number's variation each key explains, and whether chance would do as much.

The share is the adjusted R². It is 0 on average for a key that does nothing, however many values it has. The chance
comes from an analysis of variance (F) that first takes away what the other keys explain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.experiments.importance.axis import Group, as_number
from bakeoff.experiments.importance.trial import Trial, seed_deviation

FEW = 5  # with fewer degrees of freedom left over by the keys, the spread over seeds counts too
NOTHING = 1e-9  # smaller numbers are rounding errors
FOLLOWS = 1e-8  # a column with less than this of its own follows from the others
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    explained: float | None  # 0 to 1; None if every group has but one configuration
    chance: float | None  # that a key which does nothing seems to do as much; None if that is unknown
    is_separable: bool = True  # whether the effect can be told apart from those of the other keys
    is_alone: bool = False  # too few configurations to take the other keys into account
    others: tuple[tuple[str, float], ...] = ()  # keys that change together with it, and how much so, up to 1


def find_shares(configurations: Sequence[Trial], groups: Mapping[str, Sequence[Group]]) -> dict[str, Share]:
    numbers = np.array([configuration.number for configuration in configurations], np.float64)
    dummies = {key: _dummies(its_groups, len(configurations)) for key, its_groups in groups.items()}
    columns = {key: _columns(key, configurations, dummies[key]) for key in groups}
    noise = Noise.from_seeds(configurations)
    shares = {}
    for key in groups:
        others = [columns[other] for other in groups if other != key]
        together = [(other, association(dummies[key], dummies[other])) for other in groups if other != key]
        chance, is_separable, is_alone = _chance(numbers, dummies[key], others, noise)
        shares[key] = Share(
            _adjusted_r2(numbers, groups[key]),
            chance,
            is_separable,
            is_alone,
            tuple(sorted(together, key=lambda pair: -pair[1])),
        )
    return shares


@dataclass(frozen=True)
class Noise:
    """What the seeds alone do to a configuration's mean."""

    variance: float = 0.0
    freedom: int = 0

    @classmethod
    def from_seeds(cls, configurations: Sequence[Trial]) -> "Noise":
        deviation = seed_deviation(configurations)
        if deviation is None:
            return cls()
        each = float(np.mean([1 / len(configuration.numbers) for configuration in configurations]))
        return cls(deviation**2 * each, sum(len(configuration.numbers) - 1 for configuration in configurations))


def chance_of_ratio(ratio: float, upper: int, lower: int) -> float:
    """Return how often chance alone makes a ratio of variances so large: P(F >= ratio).

    `upper` and `lower` are the degrees of freedom of numerator and denominator.
    """
    from scipy.special import fdtrc  # takes a third of a second to load

    return float(fdtrc(upper, lower, ratio))


def association(one: Matrix, other: Matrix) -> float:
    """Return Cramér's V without its bias (Bergsma): 0 for keys that change independently, 1 for equal keys."""
    table = one.T @ other
    total = table.sum()
    expected = np.outer(table.sum(1), table.sum(0)) / total
    squared = float((((table - expected) ** 2) / expected).sum() / total)
    rows, columns = table.shape
    if min(rows, columns) < 2 or total < 2:
        return 0.0
    squared = max(0.0, squared - (rows - 1) * (columns - 1) / (total - 1))
    rows_left = rows - (rows - 1) ** 2 / (total - 1)
    columns_left = columns - (columns - 1) ** 2 / (total - 1)
    least = min(rows_left, columns_left) - 1
    return float(min(1.0, (squared / least) ** 0.5)) if least > NOTHING else 0.0


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Spearman's correlation, +1 if one always rises with the other, or None if one of them does not change."""
    ranks = np.stack([_ranks(np.array(values, np.float64)) for values in (one, other)])
    return None if (np.ptp(ranks, axis=1) == 0).any() else float(np.corrcoef(ranks).flat[1])


def _adjusted_r2(numbers: Matrix, groups: Sequence[Group]) -> float | None:
    """Return one minus the variance within groups over the variance of all, each by its degrees of freedom."""
    freedom = len(numbers) - len(groups)
    total = float(((numbers - numbers.mean()) ** 2).sum())
    if freedom < 1 or len(groups) < 2:
        return None
    if total <= NOTHING**2:
        return 0.0
    parts = [numbers[list(group.members)] for group in groups]
    within = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    return max(0.0, 1 - (within / freedom) / (total / (len(numbers) - 1)))


def _chance(
    numbers: Matrix, dummies: Matrix, others: Sequence[Matrix], noise: Noise
) -> tuple[float | None, bool, bool]:
    """Return the chance, whether the key is separable from the others, and whether these were left out of the analysis.

    The part that the other keys explain is taken away first. Then the part of the rest that this key explains is
    compared with the part that no key explains. If that has few degrees of freedom, the spread over seeds counts too.
    """
    alone = _basis(np.ones((len(numbers), 1)))
    base = _basis(np.column_stack([np.ones(len(numbers)), *others]))
    effect = _beyond(base, dummies)
    is_saturated = base.shape[1] >= len(numbers)
    is_separable = is_saturated or effect.shape[1] > 0
    is_alone = is_saturated or (is_separable and not noise.freedom and base.shape[1] + effect.shape[1] >= len(numbers))
    if is_alone or not is_separable:
        base, effect = alone, _beyond(alone, dummies)
    left = numbers - base @ (base.T @ numbers)
    explained = float(((effect.T @ left) ** 2).sum())
    rest = max(0.0, float(left @ left) - explained)
    freedom = len(numbers) - base.shape[1] - effect.shape[1]
    if freedom < FEW:
        rest, freedom = rest + noise.variance * noise.freedom, freedom + noise.freedom
    if freedom < 1 or not effect.shape[1]:
        return None, is_separable, is_alone
    nothing = NOTHING**2 * max(1.0, float(numbers @ numbers))
    if rest > nothing:
        ratio = explained / effect.shape[1] / (rest / freedom)
    else:
        ratio = math.inf if explained > nothing else 0.0
    return chance_of_ratio(ratio, effect.shape[1], freedom), is_separable, is_alone


def _beyond(base: Matrix, columns: Matrix) -> Matrix:
    return _basis(columns - base @ (base.T @ columns))


def _basis(columns: Matrix) -> Matrix:
    """Return orthonormal columns, without those that follow from the rest.

    The work is done on the columns' products, which are few even if there are many configurations.
    """
    sizes = np.sqrt((columns**2).sum(0))
    columns = columns[:, sizes > FOLLOWS] / sizes[sizes > FOLLOWS]
    shares_of, directions = np.linalg.eigh(columns.T @ columns)
    kept = shares_of > FOLLOWS
    return columns @ directions[:, kept] / np.sqrt(shares_of[kept])


def _dummies(groups: Sequence[Group], number: int) -> Matrix:
    """Return a column of zeros and ones for each group."""
    columns = np.zeros((number, len(groups)))
    for at, group in enumerate(groups):
        columns[list(group.members), at] = 1
    return columns


def _columns(key: str, configurations: Sequence[Trial], dummies: Matrix) -> Matrix:
    """Return the columns that stand for a key when another one is judged.

    Numbers are one column, of their ranks, which takes one degree of freedom. Names have a column for each group.
    """
    numbers = [as_number(configuration.values.get(key, "")) for configuration in configurations]
    if any(number is None for number in numbers) or dummies.shape[1] <= 3:
        return dummies
    return _ranks(np.array(numbers, np.float64))[:, None]


def _ranks(values: Matrix) -> Matrix:
    """Return the rank of each value. Equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[inverse]
