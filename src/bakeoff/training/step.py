"""One step and one prediction as graphs: batches in, gradients, new weights; images in, answers."""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from bakeoff.tasks.task import Task, Tensors
from bakeoff.training.average import Average

Batch = tuple[tf.Tensor, Tensors]
Step = Callable[[Sequence[Batch], tf.Tensor], Tensors]
Gradients = list[tf.Tensor | None]  # None for a variable that the loss does not depend on


def compiled_step(
    network: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    task: Task,
    *,
    average: Average | None = None,
    strategy: tf.distribute.Strategy | None = None,
) -> Step:
    """One update of the weights from one or more batches: (batches, rate) -> losses by their logged names."""
    strategy = strategy or tf.distribute.get_strategy()
    replicas = strategy.num_replicas_in_sync

    def gradients_of_share(images: tf.Tensor, targets: Tensors) -> tuple[Gradients, Tensors]:
        images, targets = _share((images, targets), replicas)
        with tf.GradientTape() as tape:
            parts = task.losses(as_float32(network(images, training=True)), targets)
            if network.losses:
                parts = parts | {"penalty": tf.add_n(network.losses)}
            loss = tf.add_n(list(parts.values()))
        losses = {"train/loss": loss} | {f"train/loss_{name}": part for name, part in parts.items()}
        return tape.gradient(loss, network.trainable_variables), losses

    def gradients_of(images: tf.Tensor, targets: Tensors) -> tuple[Gradients, Tensors]:
        """The means over all devices."""
        gradients, losses = strategy.run(gradients_of_share, args=(images, targets))
        if replicas > 1:
            mean = tf.distribute.ReduceOp.MEAN
            gradients = [None if one is None else strategy.reduce(mean, one, axis=None) for one in gradients]
            losses = {name: strategy.reduce(mean, value, axis=None) for name, value in losses.items()}
        return gradients, losses

    def apply(gradients: Gradients, rate: tf.Tensor) -> None:
        optimizer.learning_rate = rate
        optimizer.apply(gradients, network.trainable_variables)
        if average:
            average.follow(network, optimizer.iterations, strategy)

    @tf.function
    def step_of_one(images: tf.Tensor, targets: Tensors, rate: tf.Tensor) -> Tensors:
        gradients, losses = gradients_of(images, targets)
        apply(gradients, rate)
        return losses

    compiled_gradients, compiled_apply = tf.function(gradients_of), tf.function(apply)

    def step(batches: Sequence[Batch], rate: tf.Tensor) -> Tensors:
        if len(batches) == 1:
            return step_of_one(*batches[0], rate)
        total, losses = compiled_gradients(*batches[0])
        for batch in batches[1:]:  # one after the other, so that only one batch is on the device
            more, more_losses = compiled_gradients(*batch)
            total = [a if b is None else a + b for a, b in zip(total, more, strict=True)]
            losses = {name: value + more_losses[name] for name, value in losses.items()}
        compiled_apply([None if one is None else one / len(batches) for one in total], rate)
        return {name: value / len(batches) for name, value in losses.items()}

    return step


def compiled_prediction(network: keras.Model, task: Task) -> Callable[[tf.Tensor], Tensors]:
    @tf.function
    def predict(images: tf.Tensor) -> Tensors:
        return task.predict(as_float32(network(images, training=False)))

    return predict


def as_float32(outputs: Tensors) -> Tensors:
    """Losses and answers are counted in full precision, whatever the layers compute in."""

    def full(value: tf.Tensor) -> tf.Tensor:
        return value if value.dtype == tf.float32 else tf.cast(value, tf.float32)

    return tf.nest.map_structure(full, outputs)


def _share(batch: Batch, replicas: int) -> Batch:
    """This device's part of a batch."""
    if replicas == 1:
        return batch
    number = tf.distribute.get_replica_context().replica_id_in_sync_group

    def part(tensor: tf.Tensor) -> tf.Tensor:
        size = tf.shape(tensor)[0] // replicas
        return tf.ensure_shape(tensor[number * size : (number + 1) * size], [None, *tensor.shape[1:]])

    return tf.nest.map_structure(part, batch)
