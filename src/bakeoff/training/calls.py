"""Several steps in one call of a compiled graph: what Python takes between two steps is then paid once a call.

One graph takes any number of steps, one after the other. That number changes no bit: were there another graph for
single steps, TensorFlow might fuse its operations otherwise, and a run that is cut short would round differently.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import tensorflow as tf

from bakeoff.training.step import Batch, Step

MOST_SECONDS = 0.5  # of a call; whoever asks training to stop waits for one
AtOnce = int | Literal["auto"]


class Calls:
    """Takes steps. Single ones until it was told how long one takes."""

    def __init__(self, step: Step, batches: Iterable[Batch], *, together: int, at_once: AtOnce | None) -> None:
        """`at_once`: steps in a call, at most; None: every step by itself, out of the graph.

        So are steps of several batches `together`, of which only one is to be on the device, and batches that are not
        of tf.data.
        """
        self._step, self._upcoming, self._together = step, iter(batches), together
        self._several: Callable[[Iterator[Batch], tf.Tensor], tf.Tensor] | None = None
        if at_once is not None and together == 1 and isinstance(self._upcoming, tf.data.Iterator):
            spec = [tf.data.IteratorSpec(self._upcoming.element_spec), tf.TensorSpec([None], tf.float32)]
            self._several = tf.function(self._take_several, input_signature=spec)
        self._at_once: float = 1.0 if self._several is None or at_once is None else _number(at_once)
        self._seconds_per_step: float | None = None
        self.losses: tuple[str, ...] = ()  # their logged names, the sum first; known once a step was taken

    def told(self, seconds_per_step: float) -> None:
        self._seconds_per_step = seconds_per_step

    def ahead(self, steps: range, until_due: Callable[[int], int]) -> Iterator[range]:
        """What each call takes; none goes past what is due after `until_due(done)` further steps."""
        while steps:
            pace = self._seconds_per_step
            in_time = 1 if pace is None else max(1, int(MOST_SECONDS / max(pace, 1e-9)))
            count = int(min(len(steps), until_due(steps.start), in_time, self._at_once))
            yield steps[:count]
            steps = steps[count:]

    def take(self, rates: list[float]) -> tf.Tensor:
        """A step at each rate, and its losses: (steps, losses)."""
        if self._several is not None:
            return self._several(self._upcoming, tf.constant(rates, tf.float32))
        [rate] = rates
        return self._one(list(itertools.islice(self._upcoming, self._together)), tf.constant(rate, tf.float32))[None]

    def _one(self, batches: list[Batch], rate: tf.Tensor) -> tf.Tensor:
        losses = self._step(batches, rate)
        self.losses = tuple(losses)
        return tf.stack(list(losses.values()))

    def _take_several(self, upcoming: Iterator[Batch], rates: tf.Tensor) -> tf.Tensor:
        losses = tf.TensorSpec([None], tf.float32)
        return tf.map_fn(
            lambda rate: self._one([next(upcoming)], rate), rates, parallel_iterations=1, fn_output_signature=losses
        )


def _number(at_once: AtOnce) -> float:
    return float("inf") if at_once == "auto" else at_once
