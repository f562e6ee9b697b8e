"""Configurations in groups -> how much of a number's variation each key explains, and whether chance would do as much.

The share is the adjusted R². It is 0 on average for a key that does nothing, however many values it has. The chance
comes from an analysis of variance (F) that first takes away what the other keys explain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.experiments.importance.axis import Group, find_number
from bakeoff.experiments.importance.trial import Trial, seed_deviation

FEW = 5  # with fewer degrees of freedom left over by the keys, the spread over seeds counts too
NOTHING = 1e-9  # smaller numbers are rounding errors
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    explained: float | None  # 0 to 1; None if every group has but one configuration
    chance: float | None  # that a key which does nothing seems to do as much; None if that is unknown
    is_separable: bool = True  # whether the effect can be told apart from those of the other keys
    is_alone: bool = False  # too few configurations to take the other keys into account
    others: tuple[tuple[str, float], ...] = ()  # keys that change together with it, and how much so, up to 1


def find_shares(configurations: Sequence[Trial], groups: Mapping[str, Sequence[Group]]) -> dict[str, Share]:
    numbers, every = np.array([one.number for one in configurations], np.float64), np.arange(len(configurations))
    dummies = {
        key: np.stack([np.isin(every, group.members) for group in its], axis=1).astype(np.float64)
        for key, its in groups.items()
    }
    columns = {key: _columns(key, configurations, dummies[key]) for key in groups}
    shares = {}
    for key, own in dummies.items():
        others = [columns[other] for other in groups if other != key]
        together = [(other, association(own, dummies[other])) for other in groups if other != key]
        shares[key] = Share(
            _adjusted_r2(numbers, own),
            *_chance(numbers, own, others, _seed_noise(configurations)),
            tuple(sorted(together, key=lambda pair: -pair[1])),
        )
    return shares


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


def _seed_noise(configurations: Sequence[Trial]) -> tuple[float, int]:
    """Return the variance of a configuration's mean that the seeds alone make, and its degrees of freedom."""
    deviation = seed_deviation(configurations)
    if deviation is None:
        return 0.0, 0
    each = float(np.mean([1 / len(configuration.numbers) for configuration in configurations]))
    return deviation**2 * each, sum(len(configuration.numbers) - 1 for configuration in configurations)


def _adjusted_r2(numbers: Matrix, dummies: Matrix) -> float | None:
    """Return one minus the variance within groups over the variance of all, each by its degrees of freedom."""
    freedom = len(numbers) - dummies.shape[1]
    if freedom < 1 or dummies.shape[1] < 2:
        return None
    total = float(numbers.var(ddof=1))
    return max(0.0, 1 - _fit(numbers, dummies)[0] / freedom / total) if total > NOTHING**2 else 0.0


def _chance(
    numbers: Matrix, dummies: Matrix, others: Sequence[Matrix], noise: tuple[float, int]
) -> tuple[float | None, bool, bool]:
    """Return the chance, whether the key is separable from the others, and whether these were left out of the analysis.

    The part of the variation that this key explains beyond the others is compared with the part that no key explains.
    If that has few degrees of freedom, the spread over seeds counts too.
    """
    from scipy.special import fdtrc  # takes a third of a second to load

    alone, number = np.ones((len(numbers), 1)), len(numbers)
    before, base = _fit(numbers, alone, *others)
    rest, rank = _fit(numbers, alone, *others, dummies)
    is_saturated = base >= number
    is_separable = is_saturated or rank > base
    is_alone = is_saturated or (is_separable and not noise[1] and rank >= number)
    if is_alone or not is_separable:
        (before, base), (rest, rank) = _fit(numbers, alone), _fit(numbers, dummies)
    explained, freedom = max(0.0, before - rest), number - rank
    if freedom < FEW:
        rest, freedom = rest + noise[0] * noise[1], freedom + noise[1]
    if freedom < 1 or rank == base:
        return None, is_separable, is_alone
    nothing = NOTHING**2 * max(1.0, float(numbers @ numbers))
    if rest > nothing:
        ratio = explained / (rank - base) / (rest / freedom)
    else:
        ratio = math.inf if explained > nothing else 0.0
    return float(fdtrc(rank - base, freedom, ratio)), is_separable, is_alone


def _fit(numbers: Matrix, *columns: Matrix) -> tuple[float, int]:
    """Return the squares that a fit of the columns leaves, and how many of the columns follow from no other."""
    together = np.column_stack(columns)
    solution, _, rank, _ = np.linalg.lstsq(together, numbers)
    return float(((numbers - together @ solution) ** 2).sum()), int(rank)


def _columns(key: str, configurations: Sequence[Trial], dummies: Matrix) -> Matrix:
    """Return the columns that stand for a key when another one is judged.

    Numbers are one column, of their ranks, which takes one degree of freedom. Names have a column for each group.
    """
    from scipy.stats import rankdata

    numbers = [find_number(configuration.values.get(key, "")) for configuration in configurations]
    if any(number is None for number in numbers) or dummies.shape[1] <= 3:
        return dummies
    return rankdata(numbers)[:, None]
