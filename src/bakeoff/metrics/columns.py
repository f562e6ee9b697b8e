"""What a score knows of every example, column by column: as a dict each, a million boxes would take gigabytes.

{"score": np.array([0.5, 1.0]), "truth": Texts(("ant", "bee"), np.array([1, 0]))}   # a bee, then an ant
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np

Column = Union[np.ndarray, "Texts", "Lists", None]  # None: nobody counted it


@dataclass(frozen=True)
class Texts:
    """Some of a few names: which, (n,) from 0."""

    names: Sequence[str]
    which: np.ndarray


@dataclass(frozen=True)
class Lists:
    """A list for each example: how long each is, (examples,), and all their values one after the other."""

    counts: np.ndarray
    values: Column | Mapping[str, Column]  # by name, if each value has several parts
