"""Arrays in files, by layer and variable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stored:
    """An array in a file that is read when it is wanted: what a file says of sizes costs nothing before."""

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


Layers = Mapping[str, Mapping[str, Stored]]


class WrongTensors(ValueError):
    """What is wrong with a file of tensors, in words that need no more."""
