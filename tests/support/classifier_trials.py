"""What the tests of every classifier need: noise to look at, losses on the way, weights without a gradient."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.training.step import Step


def noise(settings: Any, count: int) -> np.ndarray:
    """Images, or clips, 0..255; coarse enough to survive pooling."""
    frames = (settings.frames,) if settings.task == "video" else ()
    draw = np.random.default_rng(0).uniform(0, 255, (count, *frames, 8, 8, 3)).astype(np.float32)
    repeats = -(-settings.input_size // 8)
    large = draw.repeat(repeats, axis=-3).repeat(repeats, axis=-2)
    return large[..., : settings.input_size, : settings.input_size, :]


@contextmanager
def borrowed(network: keras.Model) -> Iterator[keras.Model]:
    """A network that other tests look at too: its weights are as they were, afterwards."""
    kept = network.get_weights()
    try:
        yield network
    finally:
        network.set_weights(kept)


def try_a_step(settings: Any, network: keras.Model, num_classes: int) -> tuple[list[str], float, float]:
    """The weights without a gradient; what a step against it should take from the loss, a hundredth; what it takes."""
    states = [(state, state.numpy()) for state in network.non_trainable_variables if "seed_generator" in state.path]
    loss, tape = _loss_of(settings, network, num_classes)
    gradients = tape.gradient(loss, network.trainable_variables)
    without = without_gradient(network, gradients)
    promised = 0.01 * float(loss)
    rate = promised / sum(float(tf.reduce_sum(one**2)) for one in gradients if one is not None)
    for weight, gradient in zip(network.trainable_variables, gradients, strict=True):
        if gradient is not None:
            weight.assign_sub(rate * gradient)
    for state, value in states:  # the dropout leaves out the same features again
        state.assign(value)
    return without, promised, float(loss - _loss_of(settings, network, num_classes)[0])


def _loss_of(settings: Any, network: keras.Model, num_classes: int) -> tuple[tf.Tensor, tf.GradientTape]:
    """Operation by operation: to compile all takes far longer than to run it once."""
    keras.utils.set_random_seed(0)
    task = Classification(settings, "abcdefgh"[:num_classes])
    with tf.GradientTape() as tape:
        outputs = network(tf.constant(noise(settings, 4)), training=True)
        losses = task.losses(outputs, {"label": tf.constant([1, 2, num_classes, 1], tf.int64)})
        loss = tf.add_n(list(losses.values()))
    return loss, tape


def without_gradient(network: keras.Model, gradients: Sequence[tf.Tensor | None]) -> list[str]:
    """Paths of the weights whose gradient is 0, huge or not there. A bias before batch norm would have none."""
    sizes = [0.0 if one is None else float(tf.reduce_max(tf.abs(one))) for one in gradients]
    assert len(sizes) == len(network.trainable_variables) > 5
    return [
        weight.path for weight, size in zip(network.trainable_variables, sizes, strict=True) if not 1e-12 < size < 1e6
    ]


def learned(
    settings: Any, examples: np.ndarray, labels: Sequence[int], *, steps: int, rate: float
) -> tuple[list[float], list[int]]:
    """The losses on the way and the labels given in the end."""
    keras.utils.set_random_seed(1)
    network, task = settings.build(max(labels)), Classification(settings, "abcdefgh"[: max(labels)])
    step = Step(network, Momentum().build(network), task)  # which is compiled twice as fast as Adam
    targets = {"label": tf.constant(labels, tf.int64)}
    batch = {"image": tf.constant(examples)} | targets
    losses = [float(step([batch], tf.constant(rate))["train/loss"]) for _ in range(steps)]
    return losses, task.predict(network(examples, training=False))["classes"].numpy().tolist()
