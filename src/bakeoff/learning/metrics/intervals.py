"""How sure numbers are: between which two ends a number would be, counted on all examples like these.

find_intervals(numbers, groups=["a", "a", "b", ...], samples=1000) -> {"mAP": {"low": 0.55, "high": 0.63}}

Three things are asked of the examples. How far does a number move when others are drawn? The bootstrap tells, and so do
halves of the examples where they move it further: with a few boxes of each class, samples that repeat a box hide what
a missing box does. How much too high or low is it because there are few of them? Halves and quarters of the examples
tell: what is off by so much more there is off in the whole, too, and falls with a power of their number. And on which
scale does it move evenly?
tests/learning/metrics/test_intervals.py measures how often such an interval holds the truth.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from bakeoff.learning.metrics.names import METRICS, Metric

Numbers: TypeAlias = dict[str, np.ndarray]  # a value for each sample
Intervals: TypeAlias = dict[str, dict[str, float]]  # {"mAP": {"low": 0.58, "high": 0.63}}
SHARE = 0.95
AT_ONCE = 8_000_000  # weights, so that a hundred thousand examples need no gigabytes
SEED = 0
SPLITS_A_SAMPLE = 0.1  # random splits into halves and into quarters for each bootstrap sample
FEWEST = 8  # with fewer groups no splits are made
# How much more a number is off of half the examples: it falls with their root, or with their number, or in between.
SLOWEST, USUAL, FASTEST = 2**0.5, 1.6, 2.0
UNSURE = 0.4  # of what is taken off because examples are few
KEPT = 0.3  # of the way to either end of the scale, whatever is taken off
NEAREST = 1e-6  # to either end
FARTHEST = 20.0  # logarithm: two or three examples may know next to nothing
NOTHING = np.zeros(0)


def find_intervals(
    numbers: Callable[[np.ndarray], Numbers], groups: Sequence[str], samples: int, *, size: int = 0
) -> Intervals:
    """Return the low and the high end of each number, of which two groups or more know something.

    `numbers` takes (samples, examples), how often each example is in; `groups` names each example's group. `size` is
    the number of rows that `numbers` makes of one sample.
    """
    group_numbers, size = number_names(groups), max(size, len(groups))
    count = int(group_numbers.max(initial=-1)) + 1
    if count < 2 or not samples:
        return {}
    splits = max(1, round(samples * SPLITS_A_SAMPLE)) if count >= FEWEST else 0
    observed = numbers(np.ones((1, len(group_numbers)), np.int64))
    sampled = _count(numbers, draw_weights(group_numbers, samples, size))
    halves, quarters = (_count(numbers, split_weights(group_numbers, splits, parts, size)) for parts in (2, 4))
    intervals: Intervals = {}
    for name, (value,) in observed.items():
        if not np.isnan(value):
            parts = (halves.get(name, NOTHING), quarters.get(name, NOTHING))
            low, high = _ends(name, float(value), sampled[name], *parts, count)
            intervals[name] = {"low": min(low, float(value)), "high": max(high, float(value))}
    return intervals


def draw_weights(groups: np.ndarray, samples: int, size: int) -> Iterator[np.ndarray]:
    """Yield weights (samples, examples), a block at a time; they are the same whenever they are drawn.

    `groups` (examples,) numbers each example's group from 0; examples of one group are drawn together. Each sample
    takes as many groups as there are, some twice, some not at all.
    """
    draw = np.random.default_rng(SEED)
    count = int(groups.max(initial=-1)) + 1
    block = max(1, AT_ONCE // max(1, size))
    for start in range(0, samples if count else 0, block):
        taken = draw.integers(0, count, (min(block, samples - start), count))
        yield np.stack([np.bincount(row, minlength=count) for row in taken])[:, groups]


def split_weights(groups: np.ndarray, splits: int, parts: int, size: int) -> Iterator[np.ndarray]:
    """Yield weights (samples, examples): the groups are split into so many equal parts, each of which is a sample.

    The parts of a split hold every example once. So the mean over them of a number that is a mean is that of all.
    """
    draw = np.random.default_rng(SEED)
    count = int(groups.max(initial=-1)) + 1
    block = max(1, AT_ONCE // max(1, size * parts))
    for start in range(0, splits, block):
        part = np.arange(count) * parts // count
        which = draw.permuted(np.tile(part, (min(block, splits - start), 1)), axis=1)  # (splits, groups)
        weights = (which[:, None] == np.arange(parts)[:, None]).reshape(-1, count)
        yield weights.astype(np.int64)[:, groups]


def number_names(names: Sequence[str]) -> np.ndarray:
    """Number the names from 0 in the order in which they come; equal names have equal numbers."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def _count(numbers: Callable[[np.ndarray], Numbers], blocks: Iterable[np.ndarray]) -> Numbers:
    """Return the values of all samples; a sample may leave nothing to count."""
    parts = [numbers(weights) for weights in blocks]
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
    return {name: value[~np.isnan(value)] for name, value in values.items()}


def _ends(
    name: str, value: float, sampled: np.ndarray, halves: np.ndarray, quarters: np.ndarray, count: int
) -> tuple[float, float]:
    # A half leaves out as many as it has, so a mean moves over halves as far as over samples of the whole's size.
    moved, over_halves = (float(part.std()) if len(part) else 0.0 for part in (sampled, halves))
    spread = max(moved, (moved + over_halves) / 2) * (count / (count - 1)) ** 0.5
    excess = _excess(value, halves, quarters) if len(halves) and len(quarters) else 0.0
    spread = float(np.hypot(spread, UNSURE * excess))
    reach = student_reach(count - 1, SHARE) * spread
    scale = METRICS.get(name, Metric()).scale
    every = np.concatenate([sampled, [value]])
    if scale == "share" and 0 <= every.min() and every.max() <= 1:
        return _ends_of_share(value, excess, reach, count)
    if scale == "positive" and every.min() > 0:
        centre = max(value - excess, KEPT * value)
        factor = float(np.exp(min(reach / centre, FARTHEST)))
        return centre / factor, centre * factor
    return value - excess - reach, value - excess + reach


def _ends_of_share(value: float, excess: float, reach: float, count: int) -> tuple[float, float]:
    """On the scale of log odds, which has no ends; where all are right, or none, by Wilson's interval."""
    if reach == 0:
        unseen = NormalDist().inv_cdf((1 + SHARE) / 2) ** 2
        nearly = float(count / (count + unseen))
        return (nearly, 1.0) if value == 1 else (0.0, 1 - nearly) if value == 0 else (value, value)
    centre = np.clip(value - excess, KEPT * value, 1 - KEPT * (1 - value))
    centre = np.clip(centre, NEAREST, 1 - NEAREST)
    reach = min(reach / (centre * (1 - centre)), FARTHEST)
    low, high = 1 / (1 + (1 - centre) / centre * np.exp([reach, -reach]))
    return float(low), float(high)


def _excess(value: float, halves: np.ndarray, quarters: np.ndarray) -> float:
    """How much too high the number is because examples are few."""
    of_half, of_quarter = halves.mean() - value, quarters.mean() - halves.mean()
    growth = float(of_quarter / of_half) if of_half * of_quarter > 0 else USUAL
    return float(of_half / (np.clip(growth, SLOWEST, FASTEST) - 1))


# How far Student's t distribution reaches. scipy.special has it, too, and takes 0.2 seconds to load.
MANY = 1000  # degrees of freedom from which on the expansion around the normal distribution is exact to the last digits
NEARLY = 1e-15


@cache
def student_reach(freedom: int, share: float) -> float:
    """Return the distance from 0 within which that share of the distribution lies, for 1, 2, ... degrees of freedom."""
    z = NormalDist().inv_cdf((1 + share) / 2)
    reach = _expand(z, freedom)
    if freedom >= MANY:
        return reach
    # Newton's method on the angle, which has ends where the reach has none: share -> angle is steep, but never flat.
    angle = math.atan(reach / math.sqrt(freedom))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) * 2 / math.sqrt(math.pi)
    for _ in range(100):
        step = (_share_within(angle, freedom) - share) / (scale * math.cos(angle) ** (freedom - 1))
        angle = min(max(angle - step, angle / 2), (angle + math.pi / 2) / 2)
        if abs(step) <= NEARLY * angle:
            break
    return math.sqrt(freedom) * math.tan(angle)


def _expand(z: float, freedom: int) -> float:
    """Abramowitz and Stegun, 26.7.5."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def _share_within(angle: float, freedom: int) -> float:
    """Return the share between -t and t, for the angle whose tangent is t over the root of the degrees of freedom.

    Abramowitz and Stegun, 26.7.3 and 26.7.4: a finite sum.
    """
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2
    term, terms = (cosine, []) if is_odd else (1.0, [])
    for number in range(1 + is_odd, freedom, 2):
        terms.append(term)
        term *= cosine * cosine * number / (number + 1)
    total = sine * math.fsum(terms)
    return (angle + total) * 2 / math.pi if is_odd else total
