"""What a network answers to batches, as one graph, and the one loop that judges answers."""

from collections.abc import Callable, Iterable, Mapping

import keras
import tensorflow as tf

from bakeoff.tasks.task import Score, Task, Tensors

Answer = Callable[[Tensors], Tensors]


def compile_answer(network: keras.Model, task: Task, *, with_losses: bool = False) -> Answer:
    """Return the network's predictions as a graph; `with_losses` along with the loss of each example."""

    @tf.function
    def answer(batch: Tensors) -> Tensors:
        outputs = as_float32(network(batch["image"], training=False))
        return task.predict(outputs) | (task.example_losses(outputs, batch) if with_losses else {})

    return answer


def judge(
    task: Task,
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


def as_float32(outputs: Tensors) -> Tensors:
    """Cast to full precision, in which losses and answers are counted, whatever the layers compute in."""

    def full(value: tf.Tensor) -> tf.Tensor:
        return value if value.dtype == tf.float32 else tf.cast(value, tf.float32)

    return tf.nest.map_structure(full, outputs)
