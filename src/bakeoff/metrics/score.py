"""What every score offers: columns of what it knows of each example, and intervals that say how sure its numbers are.

{"score": np.array([0.5, 1.0]), "truth": Texts(("ant", "bee"), np.array([1, 0]))}   # a bee, then an ant

Intervals come from the bootstrap: each drawing takes as many examples as there are, some twice, some not at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np

from bakeoff.metrics.catalogue import BY_KIND, Kind

SHARE = 0.95
AT_ONCE = 8_000_000  # weights, so that a hundred thousand examples need no gigabytes
SEED = 0

Column = Union[np.ndarray, "Texts", "Lists", None]  # None: nobody counted it
Numbers = dict[str, np.ndarray]  # a value for each drawing
ByClass = dict[str, Numbers]  # of a number that is a mean over classes: {"mAP": {"cat": ...}}
Intervals = dict[str, dict[str, float]]  # {"mAP": {"low": 0.58, "high": 0.63}}


@dataclass(frozen=True)
class Texts:
    """A column of a few names: `which` (n,) says from 0 which of them each example has."""

    names: Sequence[str]
    which: np.ndarray


@dataclass(frozen=True)
class Lists:
    """A column with a list for each example: how long each is, (examples,), and all values one after the other."""

    counts: np.ndarray
    values: Column | Mapping[str, Column]  # by name, if each value has several parts


def count_added(kind: Kind, columns: Callable[[], Mapping[str, Column]], weights: np.ndarray) -> Numbers:
    """Count the metrics that have a file of their own, for (drawings, examples): how often each example counts."""
    added = BY_KIND[kind].added
    given = columns() if added else {}
    return {name: count(given, weights) for name, count in added.items()}


def find_intervals(
    numbers: Callable[[np.ndarray], Numbers], groups: Sequence[str], samples: int, *, size: int = 0
) -> Intervals:
    """Return the low and the high end of each number: the middle 95 % of its values of all drawings.

    `numbers` takes (drawings, examples), how often each example is in; `groups` names each example's group. `size` is
    the number of rows that `numbers` makes of one drawing.
    """
    parts = [numbers(weights) for weights in draw_weights(number_names(groups), samples, max(size, len(groups)))]
    found: Intervals = {}
    for name in parts[0] if parts else ():
        values = np.concatenate([part[name] for part in parts])
        values = values[~np.isnan(values)]  # a drawing may leave nothing to count
        if len(values):
            low, high = np.quantile(values, [(1 - SHARE) / 2, (1 + SHARE) / 2])
            found[name] = {"low": float(low), "high": float(high)}
    return found


def draw_weights(groups: np.ndarray, samples: int, size: int) -> Iterator[np.ndarray]:
    """Yield weights (drawings, examples), a block at a time; they are the same whenever they are drawn.

    `groups` (examples,) numbers each example's group from 0; examples of one group are drawn together.
    """
    draw = np.random.default_rng(SEED)
    count = int(groups.max(initial=-1)) + 1
    block = max(1, AT_ONCE // max(1, size))
    for start in range(0, samples if count else 0, block):
        taken = draw.integers(0, count, (min(block, samples - start), count))
        yield np.stack([np.bincount(row, minlength=count) for row in taken])[:, groups]


def average_known(values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean, number by number, over those arrays that have one there; NaN where none has."""
    stack = np.stack(values)
    known = ~np.isnan(stack)
    return np.where(known, stack, 0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)


def number_names(names: Sequence[str]) -> np.ndarray:
    """Number the names from 0 in the order in which they come; equal names have equal numbers."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
