"""A look at how good a network is: the score of all validation examples."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import keras

from bakeoff.errors import ConfigError, choices
from bakeoff.tasks.task import Task, Tensors, score_all
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
    ) -> None:
        """A look that becomes unwanted is broken off."""
        self._task, self._batches, self._examples, self._is_unwanted = task, batches, examples, is_unwanted
        self._predict = compiled_prediction(network, task)

    def __call__(self) -> dict[str, Any] | None:
        """All numbers of the score; None if it was broken off."""
        score = score_all(self._task, self._predict, self._wanted())
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
        score_all(self._task, self._predict, [batch]).result()

    def _wanted(self) -> Iterator[Tensors]:
        for batch in self._batches:
            if self._is_unwanted():
                return
            yield batch
