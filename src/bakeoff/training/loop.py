"""The step loop, top to bottom: batch in, gradients, new weights; now and then a line and a look at validation."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from bakeoff.errors import BakeoffError
from bakeoff.progress import Bar
from bakeoff.tasks.task import Task, Tensors

Log = Callable[[int, dict[str, float]], object]


class Diverged(BakeoffError):
    """The loss is no number any more."""


@dataclass(frozen=True)
class Rhythm:
    steps: int
    log_every: int
    validate_every: int  # 0: never before the end


def seed_everything(seed: int, deterministic: bool) -> None:
    keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(
    network: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    *,
    task: Task,
    batches: Iterable[tuple[tf.Tensor, Tensors]],
    schedule: Callable[[int], float],
    rhythm: Rhythm,
    validate: Callable[[], dict[str, Any]],
    logs: Sequence[Log],
    keep_best: Callable[[], None],
    bar: Bar,
) -> dict[str, Any]:
    """Train for `rhythm.steps` steps, the last of which is always validated; returns which step was best."""
    train_step = compiled_step(network, optimizer, task)
    best: dict[str, Any] = {"best_metric": task.headline, "best_value": None, "best_step": 0}
    logged, since = 0, time.monotonic()
    for done, (images, targets) in enumerate(batches, start=1):
        rate = schedule(done - 1)
        losses = train_step(images, targets, tf.constant(rate, tf.float32))
        last = done == rhythm.steps
        if last or done % rhythm.log_every == 0:
            values = {name: float(value) for name, value in losses.items()}
            now = time.monotonic()
            speed = (done - logged) * len(images) / max(now - since, 1e-9)
            logged, since = done, now
            _require_finite(values["train/loss"], done, rate)
            for log in logs:
                log(done, values | {"learning_rate": rate, "examples_per_second": speed})
            bar.note(f"loss {values['train/loss']:.3f}")
        bar.advance()
        if last or (rhythm.validate_every and done % rhythm.validate_every == 0):
            pause = time.monotonic()
            result = validate()
            for log in logs:
                log(done, {f"validation/{name}": value for name, value in result.items() if isinstance(value, float)})
            value = result.get(task.headline)  # None if there is nothing to count it on, such as no box in any image
            if best["best_step"] == 0 or (
                value is not None and (best["best_value"] is None or value > best["best_value"])
            ):
                best |= {"best_value": value, "best_step": done}
                keep_best()
            since += time.monotonic() - pause
        if last:
            break
    return best


def _require_finite(loss: float, step: int, rate: float) -> None:
    if not math.isfinite(loss):
        raise Diverged(
            f"training diverged: the loss is {loss} at step {step} with rate {rate:g}; "
            "lower lr.peak or lengthen lr.warmup_steps"
        )


def compiled_step(
    network: keras.Model, optimizer: keras.optimizers.Optimizer, task: Task
) -> Callable[[tf.Tensor, Tensors, tf.Tensor], Tensors]:
    """One update of the weights, as a graph: (images, targets, rate) -> losses by their logged names."""

    @tf.function
    def train_step(images: tf.Tensor, targets: Tensors, rate: tf.Tensor) -> Tensors:
        optimizer.learning_rate = rate
        with tf.GradientTape() as tape:
            parts = task.losses(network(images, training=True), targets)
            if network.losses:  # what the layers ask for their own weights, such as L2
                parts = parts | {"weights": tf.add_n(network.losses)}
            loss = tf.add_n(list(parts.values()))
        optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
        return {"train/loss": loss} | {f"train/loss_{name}": part for name, part in parts.items()}

    return train_step


def compiled_prediction(network: keras.Model, task: Task) -> Callable[[tf.Tensor], Tensors]:
    @tf.function
    def predict(images: tf.Tensor) -> Tensors:
        return task.predict(network(images, training=False))

    return predict
