"""Batches in, answers out, with the loss of each example: what evaluation asks of a network, as one graph."""

from collections.abc import Callable

import tensorflow as tf

from bakeoff.tasks.task import Task, Tensors


def compiled_answers(task: Task, outputs_of: Callable[[tf.Tensor], Tensors]) -> Callable[[Tensors], Tensors]:
    """`outputs_of` gives the network's outputs for images."""

    @tf.function
    def answer(batch: Tensors) -> Tensors:
        outputs = outputs_of(batch["image"])
        return task.predict(outputs) | task.example_losses(outputs, batch)

    return answer
