"""The tasks, and what each of them can do."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self

import numpy as np
import tensorflow as tf

from bakeoff.metrics.bootstrap import Intervals
from bakeoff.metrics.columns import Column
from bakeoff.networks import Network
from bakeoff.tasks.classification import Classification
from bakeoff.tasks.detection import Detection

Tensors = dict[str, tf.Tensor]


class Score(Protocol):
    """A value that merges: scores of parts add up to the score of the whole."""

    def __add__(self, other: Self) -> Self: ...

    def result(self) -> dict: ...

    def intervals(self, groups: Sequence[str], samples: int) -> Intervals:
        """Of the headline numbers, from so many drawings of the examples, those of one group together."""

    def columns(self) -> dict[str, Column]:
        """Of every example, in order: truth, prediction, score (higher is better) and more."""

    def worst_first(self) -> np.ndarray:
        """The numbers of all examples, the worst mistakes first, the best answers last."""

    def plots(self) -> dict[str, list[dict]]:
        """Tables for `dvc plots`, by name, which may have a folder."""


class Task(Protocol):
    @property
    def headline(self) -> str:
        """The number of `Score.result` that says which weights are best; higher is better."""

    @property
    def measures(self) -> tuple[str, ...]:
        """All numbers of `Score.result` that go by that rule; what there is nothing to count on is left out or None."""

    def encode(self, example: Tensors) -> Tensors: ...

    def losses(self, outputs: Tensors, targets: Tensors) -> Tensors: ...

    def predict(self, outputs: Tensors) -> Tensors: ...

    def example_losses(self, outputs: Tensors, batch: Tensors) -> Tensors:
        """ "losses" (batch,) for `judge`, if it can't tell them from predictions."""

    def score(self) -> Score: ...

    def judge(self, batch: Tensors, found: Tensors) -> Score: ...

    def shown(self, batch: Tensors, found: Tensors) -> Iterator[tuple[np.ndarray, dict]]: ...


TASKS: dict[str, Callable[..., Task]] = {
    "detection": Detection,
    "classification": Classification,
    "video": Classification,
}


def task_of(model: Network, classes: Sequence[str], *, multi_label: bool = False) -> Task:
    """`multi_label`: whether an example may have several labels; of detection, every example may."""
    return TASKS[model.task](model, classes, **({"multi_label": True} if multi_label else {}))


def score_all(task: Task, predict: Callable[[tf.Tensor], Tensors], batches: Iterable[Tensors]) -> Score:
    """Return the sum of the scores of all batches."""
    score = task.score()
    for batch in batches:
        score = score + task.judge(batch, predict(batch["image"]))
    return score


def compiled_answers(task: Task, outputs_of: Callable[[tf.Tensor], Tensors]) -> Callable[[Tensors], Tensors]:
    """Return batches -> predictions with the loss of each example, as one graph: what evaluation asks of a network.

    `outputs_of` gives the network's outputs for images.
    """

    @tf.function
    def answer(batch: Tensors) -> Tensors:
        outputs = outputs_of(batch["image"])
        return task.predict(outputs) | task.example_losses(outputs, batch)

    return answer
