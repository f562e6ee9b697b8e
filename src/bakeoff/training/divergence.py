"""Losses that are numbers no more: which step it began with."""

import math
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

from bakeoff.errors import BakeoffError

MOST = 100  # losses that are kept before they are read


class Diverged(BakeoffError):
    """Training has left the numbers. What was saved before is whole."""

    def __init__(self, what: str, step: int, rate: float, batch: str = "") -> None:
        self.what, self.step, self.rate = what, step, rate
        remedy = "lower lr.peak or lengthen lr.warmup_steps" + (batch and f", or look at its examples: {batch}")
        super().__init__(f"training diverged: {what} at step {step} with rate {rate:g}; {remedy}")

    def on(self, batch: str) -> "Diverged":
        """The same, with the names of the step's examples."""
        return Diverged(self.what, self.step, self.rate, batch)


def require_numbers(arrays: Mapping[str, ArrayLike], step: int, rate: float) -> None:
    """Of a checkpoint: a step can have a loss and yet throw the weights out of the numbers."""
    for array in map(np.asarray, arrays.values()):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise Diverged("the weights are no numbers", step, rate)


class Losses:
    """Of the steps since they were last read: reading one a step would make Python wait for the device."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, float, tf.Tensor]] = []

    def add(self, step: int, rate: float, loss: tf.Tensor) -> None:
        self._kept.append((step, rate, loss))
        if len(self._kept) >= MOST:
            self.require_finite()

    def require_finite(self) -> None:
        kept, self._kept = self._kept, []
        values = tf.stack([loss for _, _, loss in kept]).numpy() if kept else ()
        for (step, rate, _), value in zip(kept, values, strict=True):
            if not math.isfinite(value):
                raise Diverged(f"the loss is {value}", step, rate)
