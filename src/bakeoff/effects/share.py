"""How much of the variation of a number each key explains, whether chance would do as much, and which keys go together.

The share is the adjusted R², 0 on average for a key that does nothing, however many values it has. Chance is asked of
an analysis of variance (F) in which the other keys have their say first.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.effects.axis import Group, as_number
from bakeoff.effects.trial import Trial, seed_deviation

FEW = 5  # degrees of freedom of what no key explains
NOTHING = 1e-9
FOLLOWS = 1e-8  # what is left of a column that others make up
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    explained: float | None  # 0 to 1; None if every group has but one point
    chance: float | None  # that a key which does nothing seems to do as much; None if that cannot be told
    is_separable: bool = True  # from the other keys
    is_alone: bool = False  # too few points to take the other keys into account
    others: tuple[tuple[str, float], ...] = ()  # keys that change together with it, and how much so, up to 1


def find_shares(points: Sequence[Trial], groups: Mapping[str, Sequence[Group]]) -> dict[str, Share]:
    numbers = np.array([point.number for point in points], np.float64)
    dummies = {key: _dummies(own, len(points)) for key, own in groups.items()}
    columns = {key: _columns(key, points, dummies[key]) for key in groups}
    noise = Noise.of(points)
    found = {}
    for key in groups:
        others = [columns[other] for other in groups if other != key]
        together = [(other, association(dummies[key], dummies[other])) for other in groups if other != key]
        chance, is_separable, is_alone = _chance(numbers, dummies[key], others, noise)
        found[key] = Share(
            _adjusted_r2(numbers, groups[key]), chance, is_separable, is_alone,
            tuple(sorted(together, key=lambda pair: -pair[1])),
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class Noise:
    """What the seeds alone do to a point's mean."""

    variance: float = 0.0
    freedom: int = 0

    @classmethod
    def of(cls, points: Sequence[Trial]) -> "Noise":
        deviation = seed_deviation(points)
        if deviation is None:
            return cls()
        each = float(np.mean([1 / len(point.numbers) for point in points]))
        return cls(deviation**2 * each, sum(len(point.numbers) - 1 for point in points))


def chance_of_ratio(ratio: float, upper: int, lower: int) -> float:
    """How often chance alone makes a ratio of variances so large: P(F >= ratio), with so many degrees of freedom above
    and below."""
    from scipy.special import fdtrc  # takes a third of a second to load

    return float(fdtrc(upper, lower, ratio))


def association(one: Matrix, other: Matrix) -> float:
    """Cramér's V without its bias (Bergsma): 0 of keys that change independently, 1 of keys that say the same."""
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
    """Spearman's: +1 if the one always rises with the other; None if one of them does not change."""
    ranks = np.stack([_ranks(np.array(values, np.float64)) for values in (one, other)])
    return None if (np.ptp(ranks, axis=1) == 0).any() else float(np.corrcoef(ranks).flat[1])


def _adjusted_r2(numbers: Matrix, groups: Sequence[Group]) -> float | None:
    """One minus the variance within the groups over the variance of all points, each by its degrees of freedom."""
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
    """Return the chance, whether the key can be told from the others, and whether these could not be allowed for.

    What the other keys explain is taken away; what the key explains of the rest is held against what no key explains.
    Where that has few degrees of freedom, what the seeds alone do to a point is counted in, too.
    """
    alone = _basis(np.ones((len(numbers), 1)))
    base = _basis(np.column_stack([np.ones(len(numbers)), *others]))
    own = _beyond(base, dummies)
    is_saturated = base.shape[1] >= len(numbers)
    is_separable = is_saturated or own.shape[1] > 0
    is_alone = is_saturated or (is_separable and not noise.freedom and base.shape[1] + own.shape[1] >= len(numbers))
    if is_alone or not is_separable:
        base, own = alone, _beyond(alone, dummies)
    left = numbers - base @ (base.T @ numbers)
    explained = float(((own.T @ left) ** 2).sum())
    rest = max(0.0, float(left @ left) - explained)
    freedom = len(numbers) - base.shape[1] - own.shape[1]
    if freedom < FEW:
        rest, freedom = rest + noise.variance * noise.freedom, freedom + noise.freedom
    if freedom < 1 or not own.shape[1]:
        return None, is_separable, is_alone
    nothing = NOTHING**2 * max(1.0, float(numbers @ numbers))
    ratio = explained / own.shape[1] / (rest / freedom) if rest > nothing else math.inf if explained > nothing else 0.0
    return chance_of_ratio(ratio, own.shape[1], freedom), is_separable, is_alone


def _beyond(base: Matrix, columns: Matrix) -> Matrix:
    return _basis(columns - base @ (base.T @ columns))


def _basis(columns: Matrix) -> Matrix:
    """Orthonormal, without what follows from the rest. By the columns' products, which are few also of many points."""
    sizes = np.sqrt((columns**2).sum(0))
    columns = columns[:, sizes > FOLLOWS] / sizes[sizes > FOLLOWS]
    shares_of, directions = np.linalg.eigh(columns.T @ columns)
    kept = shares_of > FOLLOWS
    return columns @ directions[:, kept] / np.sqrt(shares_of[kept])


def _dummies(groups: Sequence[Group], number: int) -> Matrix:
    """A column for each group."""
    columns = np.zeros((number, len(groups)))
    for at, group in enumerate(groups):
        columns[list(group.members), at] = 1
    return columns


def _columns(key: str, points: Sequence[Trial], dummies: Matrix) -> Matrix:
    """As another key is allowed for: a number by its rank, which takes one degree of freedom, a name by its groups."""
    numbers = [as_number(point.values.get(key, "")) for point in points]
    if any(number is None for number in numbers) or dummies.shape[1] <= 3:
        return dummies
    return _ranks(np.array(numbers, np.float64))[:, None]


def _ranks(values: Matrix) -> Matrix:
    """Equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[inverse]
