"""The tasks, what each of them can do, what a network answers to batches, and the one loop that judges answers."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, Self

import keras
import numpy as np
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input.letterbox_graph import restore_boxes
from bakeoff.learning.input.view import View
from bakeoff.learning.metrics.intervals import Intervals, Numbers
from bakeoff.learning.metrics.score import ByClass, Column
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.quantized.quantizable import is_active
from bakeoff.learning.tasks.classification import Classification, LabelJudge, OneLabel, SeveralLabels
from bakeoff.learning.tasks.detection import BoxJudge, Detection
from bakeoff.learning.tasks.tiled import answer_in_tiles

Tensors = dict[str, tf.Tensor]
Answer = Callable[[Tensors], Tensors]
OF_BOXES = ("boxes", "classes")  # what a detector's batch has of each box


class Score(Protocol):
    """A value that merges: scores of parts add up to the score of the whole."""

    def __add__(self, other: Self) -> Self: ...

    def result(self) -> dict: ...

    def intervals(self, groups: Sequence[str], samples: int) -> Intervals:
        """Of the headline numbers, from so many bootstrap samples of the examples, those of one group together."""

    def count_weighted(self, weights: np.ndarray) -> tuple[Numbers, ByClass]:
        """Those numbers, and what each class has of them, for (weightings, examples): how often each counts."""

    def columns(self) -> dict[str, Column]:
        """Of every example, in order: truth, prediction, score (higher is better) and more."""

    def worst_first(self) -> np.ndarray:
        """The numbers of all examples, the worst mistakes first, the best answers last."""

    def plots(self) -> dict[str, list[dict]]:
        """Tables for `dvc plots`, by name, which may have a folder."""


class Judge(Protocol):
    @property
    def headline(self) -> str:
        """The number of `Score.result` that says which weights are best; higher is better."""

    @property
    def measures(self) -> tuple[str, ...]:
        """All numbers of `Score.result` that go by that rule; what there is nothing to count on is left out or None."""

    def score(self) -> Score: ...

    def judge(self, batch: Tensors, predictions: Tensors) -> Score: ...

    def iterate_pictures(self, batch: Tensors, predictions: Tensors) -> Iterator[tuple[np.ndarray, dict]]: ...


class Task(Judge, Protocol):
    def encode(self, example: Tensors) -> Tensors: ...

    def losses(self, outputs: Tensors, targets: Tensors) -> Tensors: ...

    def predict(self, outputs: Tensors) -> Tensors: ...

    def example_losses(self, outputs: Tensors, batch: Tensors) -> Tensors:
        """ "losses" (batch, …) of each example, for `judge`, if it can't tell them from predictions."""


TASKS: dict[str, Callable[..., Task]] = {
    "detection": Detection,
    "classification": Classification,
    "video": Classification,
}


def make_task(model: Network, classes: Sequence[str], *, multi_label: bool = False) -> Task:
    """`multi_label`: whether an example may have several labels; of detection, every example may."""
    return TASKS[model.task](model, classes, **({"multi_label": True} if multi_label else {}))


def make_judge(task: str, classes: Sequence[str], *, multi_label: bool) -> Judge:
    """Return what judges answers of which only the labels are known, not the network that gave them."""
    if task == "detection":
        return BoxJudge(tuple(classes))
    return LabelJudge(SeveralLabels(tuple(classes)) if multi_label else OneLabel(tuple(classes), background=False))


def compile_answer(
    network: keras.Model, task: Task, *, with_losses: bool = False, with_spreads: bool = False
) -> Answer:
    """Return the network's predictions as a graph; `with_losses`, so that the score can count the loss, too.

    `with_spreads`: of boxes of whole pictures also how sure their sides are, which a teacher's pupils learn.
    """
    view = View.of(task.model) if isinstance(task, Detection) else None
    is_tiled = view is not None and view.tiles is not None
    says_spreads = with_spreads and isinstance(task, Detection) and not is_tiled

    def answer(batch: Tensors) -> Tensors:
        outputs = answer_in_full(network, batch) if says_spreads else network(batch["image"], training=False)
        predictions = task.predict(outputs := as_float32(outputs))
        if says_spreads and isinstance(task, Detection):
            predictions["spreads"] = task.spreads(outputs, predictions)
        predictions = restore_boxes(predictions, batch)
        return predictions | (task.example_losses(outputs, batch) if with_losses else {})

    if view and is_tiled:  # there are many numbers of views and of boxes in them
        tiled = compile_by_state(lambda _: compile_graph(answer, reduce_retracing=True), partial(is_active, network))
        return answer_in_tiles(view, tiled, with_losses=with_losses)
    lists = OF_BOXES if isinstance(task, Detection) else ()
    return compile_by_state(lambda batch: compile_once(answer, lists, batch), partial(is_active, network))


def compile_by_state(compile_for: Callable[[Tensors], Answer], state: Callable[[], bool]) -> Answer:
    """Return what is compiled at its first call, and once more when the network computes in eight bits."""
    compiled: dict[bool, Answer] = {}

    def call(batch: Tensors) -> Tensors:
        if (now := state()) not in compiled:
            compiled[now] = compile_for(batch)
        return compiled[now](batch)

    return call


def compile_once(answer: Answer, lists: Collection[str], batch: Tensors) -> Answer:
    """Return one graph for batches of any size and for any number of boxes; to make a graph takes a second.

    `lists` names what has a row for each box.
    """
    sizes = {name: 2 if name in lists else 1 for name in batch}  # dimensions that change from batch to batch
    loose = {
        name: tf.TensorSpec([None] * sizes[name] + list(one.shape[sizes[name] :]), one.dtype)
        for name, one in batch.items()
    }
    compiled: Answer = compile_graph(answer, input_signature=[loose])
    return compiled


def judge(
    task: Judge,
    answers: Mapping[str, Answer],
    batches: Iterable[Tensors],
    watch: Callable[[Tensors, Tensors], object] = lambda batch, answer: None,
) -> dict[str, Score]:
    """Return the score of each of `answers` on the very same batches; `watch` sees every batch and its last answer."""
    scores = {name: task.score() for name in answers}
    for batch in batches:
        for name, answer in answers.items():
            predictions = answer(batch)
            scores[name] = scores[name] + task.judge(batch, predictions)
        watch(batch, predictions)
    return scores


def answer_in_training(network: keras.Model, batch: Tensors) -> Tensors:
    """Return the outputs for a batch of images; a network that denoises is shown the targets, too."""
    shown = {"targets": {name: batch[name] for name in OF_BOXES}} if getattr(network, "sees_targets", False) else {}
    return as_float32(network(batch["image"], training=True, **shown))


def answer_in_full(network: keras.Model, batch: Tensors) -> Tensors:
    """Return what a network answers outside of training, with all that it says of its sides."""
    count = tf.shape(batch["image"])[0]
    nothing = {"boxes": tf.zeros([count, 1, 4]), "classes": tf.zeros([count, 1], tf.int64)}
    shown = {"targets": nothing} if getattr(network, "sees_targets", False) else {}
    return network(batch["image"], training=False, **shown)


def as_float32(outputs: Tensors) -> Tensors:
    """Cast to full precision, in which losses and answers are counted, whatever the layers compute in."""

    def full(value: tf.Tensor) -> tf.Tensor:
        return value if value.dtype == tf.float32 else tf.cast(value, tf.float32)

    return tf.nest.map_structure(full, outputs)
