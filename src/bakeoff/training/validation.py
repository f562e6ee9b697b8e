"""A look at how good a network is: the score of all validation examples."""

from collections.abc import Iterable
from typing import Any

import keras

from bakeoff.tasks.task import Task, Tensors, score_all
from bakeoff.training.step import compiled_prediction


class Validation:
    """Draws no random numbers, so that looking more often changes no weight."""

    def __init__(self, task: Task, network: keras.Model, batches: Iterable[Tensors]) -> None:
        self._task, self._batches = task, batches
        self._predict = compiled_prediction(network, task)

    def __call__(self) -> dict[str, Any]:
        return score_all(self._task, self._predict, self._batches).result()
