"""How far a number may be off because the examples are few: what it is when they are drawn again and again.

Each drawing takes as many examples as there are, some twice, some not at all; the middle 95 % of the numbers that come
of it are the interval. Examples of one group are drawn together.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

SHARE = 0.95
AT_ONCE = 8_000_000  # weights, so that a hundred thousand examples need no gigabytes
SEED = 0

Numbers = dict[str, np.ndarray]  # a value for each drawing
ByClass = dict[str, Numbers]  # of a number that is a mean over classes: {"mAP": {"cat": ...}}
Intervals = dict[str, dict[str, float]]  # {"mAP": {"low": 0.58, "high": 0.63}}


def intervals(
    numbers: Callable[[np.ndarray], Numbers], groups: Sequence[str], samples: int, *, size: int = 0
) -> Intervals:
    """The low and the high end of each number; `numbers` takes (drawings, examples): how often each example is in.

    `groups` names each example's group. `size`: rows that `numbers` makes of one drawing.
    """
    parts = [numbers(weights) for weights in drawings(numbered(groups), samples, max(size, len(groups)))]
    found: Intervals = {}
    for name in parts[0] if parts else ():
        values = np.concatenate([part[name] for part in parts])
        values = values[~np.isnan(values)]  # a drawing may leave nothing to count
        if len(values):
            low, high = np.quantile(values, [(1 - SHARE) / 2, (1 + SHARE) / 2])
            found[name] = {"low": float(low), "high": float(high)}
    return found


def drawings(groups: np.ndarray, samples: int, size: int) -> Iterator[np.ndarray]:
    """Weights (drawings, examples), a block at a time; the same whenever they are drawn.

    `groups` (examples,) numbers each example's group from 0.
    """
    draw = np.random.default_rng(SEED)
    count = int(groups.max(initial=-1)) + 1
    block = max(1, AT_ONCE // max(1, size))
    for start in range(0, samples if count else 0, block):
        taken = draw.integers(0, count, (min(block, samples - start), count))
        yield np.stack([np.bincount(row, minlength=count) for row in taken])[:, groups]


def mean_of(values: Sequence[np.ndarray]) -> np.ndarray:
    """The mean, number by number, over those arrays that have one there; NaN where none has."""
    stack = np.stack(values)
    known = ~np.isnan(stack)
    return np.where(known, stack, 0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)


def numbered(names: Sequence[str]) -> np.ndarray:
    """A number from 0 for each name, equal for equal ones, in the order in which they come."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
