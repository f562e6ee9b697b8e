"""What every score offers: columns of what it knows of each example.

{"score": np.array([0.5, 1.0]), "truth": Texts(("ant", "bee"), np.array([1, 0]))}   # a bee, then an ant
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np

from bakeoff.learning.metrics.intervals import Numbers
from bakeoff.learning.metrics.names import BY_KIND, Kind

Column = Union[np.ndarray, "Texts", "Lists", None]  # None: nobody counted it
ByClass = dict[str, Numbers]  # of a number that is a mean over classes: {"mAP": {"cat": ...}}


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
    """Count the metrics that have a file of their own, for (samples, examples): how often each example counts."""
    added = BY_KIND[kind].added
    given = columns() if added else {}
    return {name: count(given, weights) for name, count in added.items()}


def average_known(values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean, number by number, over those arrays that have one there; NaN where none has."""
    stack = np.stack(values)
    known = ~np.isnan(stack)
    return np.where(known, stack, 0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
