"""A look at how good a network is: the score of all validation examples."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import keras

from bakeoff.errors import ConfigError, choices
from bakeoff.tasks.task import Task, Tensors
from bakeoff.training.samples import Samples
from bakeoff.training.step import compiled_prediction

REHEARSED = 3  # batches


def judged_by(task: Task, best_by: str | None) -> str:
    """The number of a look that says which weights are best."""
    if best_by is not None and best_by not in task.measures:
        raise ConfigError(f"train.best_by: no such metric {best_by!r}; {choices(best_by, task.measures)}")
    return best_by or task.headline


class Validation:
    """Draws no random numbers, so that looking more often changes no weight."""

    def __init__(
        self,
        task: Task,
        network: keras.Model,
        batches: Iterable[Tensors],
        *,
        examples: int,
        is_unwanted: Callable[[], bool] = lambda: False,
        samples: Samples | None = None,
    ) -> None:
        """A look that becomes unwanted is broken off. It shows the samples what it sees."""
        self._task, self._batches, self._examples, self._is_unwanted = task, batches, examples, is_unwanted
        self._predict, self._samples = compiled_prediction(network, task), samples

    def __call__(self) -> dict[str, Any] | None:
        """All numbers of the score; None if it was broken off."""
        if self._samples:
            self._samples.begin()
        score = self._task.score()
        for batch in self._wanted():
            found = self._predict(batch["image"])
            score = score + self._task.judge(batch, found)
            if self._samples:
                self._samples.watch(batch, found)
        return None if self._is_unwanted() else score.result()

    def seconds(self) -> float:
        """About how long a look takes, from a few batches. Builds the graphs that looks need."""
        longest, start = 0.0, time.monotonic()
        for number, batch in enumerate(islice(self._batches, REHEARSED)):
            size = len(batch["image"])
            if number == 0:
                self._score(batch)
                self._score({name: value[: self._examples % size or size] for name, value in batch.items()})
                start = time.monotonic()
            self._score(batch)
            longest, start = max(longest, (time.monotonic() - start) / size), time.monotonic()
        return longest * self._examples

    def _score(self, batch: Tensors) -> None:
        self._task.judge(batch, self._predict(batch["image"])).result()

    def _wanted(self) -> Iterator[Tensors]:
        for batch in self._batches:
            if self._is_unwanted():
                return
            yield batch
