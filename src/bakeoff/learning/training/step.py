"""One step as a graph: batches in, gradients, new weights; and several steps in one call of a graph.

What Python takes between two steps is then paid once a call. One graph takes any number of steps, one after the other.
That number changes no bit: were there another graph for single steps, TensorFlow might fuse its operations otherwise,
and a run that is cut short would round differently.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple

import keras
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.norms import following_together
from bakeoff.learning.networks.quantized.quantizable import Quantizable
from bakeoff.learning.tasks.task import Task, Tensors, answer_in_training
from bakeoff.learning.training.accelerators import has_gpus, own_devices
from bakeoff.learning.training.average import Average
from bakeoff.learning.training.input_gradients import fast_gradients

MOST_SECONDS = 0.5  # of a call; whoever asks training to stop waits for one
AtOnce = int | Literal["auto"]
Gradients = list[tf.Tensor | None]  # None for a variable that the loss does not depend on


class Slow(NamedTuple):
    """What learns at a share of the rate."""

    paths: frozenset[str]  # of the weights
    rate: float


class Step:
    """One update of the weights from one or more batches: (batches, rate) -> losses by their logged names."""

    def __init__(
        self,
        network: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        task: Task,
        *,
        average: Average | None = None,
        strategy: tf.distribute.Strategy | None = None,
        ranges_learn: int | None = None,
        slow: Slow | None = None,
    ) -> None:
        """`ranges_learn`: after so many steps the ranges of eight bits stay as they are."""
        self._network, self._optimizer, self._task, self._average = network, optimizer, task, average
        self._strategy = strategy or tf.distribute.get_strategy()
        has_ranges = ranges_learn is not None and isinstance(network, Quantizable)
        self._ranges, self._ranges_learn = network.ranges.ends if has_ranges else None, ranges_learn
        self._slow = [one for one in network.trainable_variables if slow and one.path in slow.paths]
        self._slow_rate = slow.rate if slow else 1.0
        self._update = compile_graph(self._update_from_one)
        self._gradients, self._apply = compile_graph(self._gradients_of), compile_graph(self._apply_gradients)

    def __call__(self, batches: Sequence[Tensors], rate: tf.Tensor) -> Tensors:
        if len(batches) == 1:
            return self._update(batches[0], rate)
        total, losses = self._gradients(batches[0])
        for batch in batches[1:]:  # one after the other, so that only one batch is on the device
            more, more_losses = self._gradients(batch)
            total = [a if b is None else a + b for a, b in zip(total, more, strict=True)]
            losses = {name: value + more_losses[name] for name, value in losses.items()}
        self._apply([None if one is None else one / len(batches) for one in total], rate)
        return {name: value / len(batches) for name, value in losses.items()}

    def count_gradients(self, batch: Tensors) -> Tensors:
        """Return those of a batch by the paths of the weights, of all that its loss depends on; apply none."""
        gradients, _ = self._gradients(batch)
        weights = self._network.trainable_variables
        return {weight.path: one for weight, one in zip(weights, gradients, strict=True) if one is not None}

    def _update_from_one(self, batch: Tensors, rate: tf.Tensor) -> Tensors:
        gradients, losses = self._gradients_of(batch)
        self._apply_gradients(gradients, rate)
        return losses

    def _gradients_of(self, batch: Tensors) -> tuple[Gradients, Tensors]:
        """Return the means over all devices."""
        gradients, losses = self._strategy.run(self._gradients_of_share, args=(batch,))
        if self._strategy.num_replicas_in_sync > 1:
            mean, reduce = tf.distribute.ReduceOp.MEAN, self._strategy.reduce
            gradients = [None if one is None else reduce(mean, one, axis=None) for one in gradients]
            losses = {name: reduce(mean, value, axis=None) for name, value in losses.items()}
        return gradients, losses

    def _gradients_of_share(self, batch: Tensors) -> tuple[Gradients, Tensors]:
        batch = _share(batch, own_devices(self._strategy))
        is_alone = self._strategy.num_replicas_in_sync == 1
        together = following_together() if is_alone else nullcontext()
        faster = fast_gradients(self._network) if is_alone and not has_gpus() else nullcontext()
        with together, tf.GradientTape() as tape, faster:
            parts = self._task.losses(answer_in_training(self._network, batch), batch)
            if self._network.losses:
                parts = parts | {"penalty": tf.add_n(self._network.losses)}
            loss = tf.add_n(list(parts.values()))
        losses = {"train/loss": loss} | {f"train/loss_{name}": part for name, part in parts.items()}
        return tape.gradient(loss, self._network.trainable_variables), losses

    def _apply_gradients(self, gradients: Gradients, rate: tf.Tensor) -> None:
        self._optimizer.learning_rate = rate
        before = None if self._ranges is None else self._ranges.value.read_value()
        is_frozen = self._ranges_learn is not None and self._optimizer.iterations.value >= self._ranges_learn
        slow = [one.value.read_value() for one in self._slow]
        self._optimizer.apply(gradients, self._network.trainable_variables)
        # Every optimizer here moves a weight by the rate times something, and so does its decay.
        for one, place in zip(self._slow, slow, strict=True):
            one.assign(place + self._slow_rate * (one.value - place))
        if self._ranges is not None:  # the optimizer's momentum would move them on
            self._ranges.assign(tf.where(is_frozen, before, self._ranges.value))
        if self._average:
            self._average.follow(self._optimizer.iterations, self._strategy)


class Calls:
    """Takes steps: single ones until it is known how long one takes."""

    def __init__(
        self,
        step: Step,
        batches: Iterable[Tensors],
        *,
        together: int,
        at_once: AtOnce | None,
        taking: Callable[[int], AbstractContextManager[None]] = lambda steps: nullcontext(),
    ) -> None:
        """`at_once`: steps in a call, at most; None: every step by itself, out of the graph. Each call is made
        in the block of `taking` its number of steps.

        So are steps of several batches `together`, of which only one is to be on the device, and batches that are not
        of tf.data.
        """
        self._step, self._upcoming, self._together, self._taking = step, iter(batches), together, taking
        self._several: Callable[[Iterator[Tensors], tf.Tensor], tf.Tensor] | None = None
        if at_once is not None and together == 1 and isinstance(self._upcoming, tf.data.Iterator):
            spec = [tf.data.IteratorSpec(self._upcoming.element_spec), tf.TensorSpec([None], tf.float32)]
            self._several = compile_graph(self._take_several, input_signature=spec)
        unbound = float("inf") if at_once == "auto" else at_once
        self._at_once: float = 1.0 if self._several is None or unbound is None else unbound
        self._seconds_per_step: float | None = None
        self._names: tuple[str, ...] = ()  # of the losses, the sum first; known once a step was taken

    def set_pace(self, seconds_per_step: float) -> None:
        self._seconds_per_step = seconds_per_step

    def ahead(self, steps: range, until_due: Callable[[int], int]) -> Iterator[range]:
        """Yield what each call takes; none goes past what is due after `until_due(done)` further steps."""
        while steps:
            pace = self._seconds_per_step
            in_time = 1 if pace is None else max(1, int(MOST_SECONDS / max(pace, 1e-9)))
            count = int(min(len(steps), until_due(steps.start), in_time, self._at_once))
            yield steps[:count]
            steps = steps[count:]

    def take(self, rates: list[float]) -> tf.Tensor:
        """Take a step at each rate, and return its losses: (steps, losses)."""
        with self._taking(len(rates)):
            if self._several is not None:
                return self._several(self._upcoming, tf.constant(rates, tf.float32))
            batches = list(itertools.islice(self._upcoming, self._together))
            return self._take(batches, tf.constant(rates[0], tf.float32))[None]

    def name_losses(self, losses: tf.Tensor) -> dict[str, float]:
        """Return one step's losses by their logged names."""
        return dict(zip(self._names, losses.numpy().tolist(), strict=True))

    def _take(self, batches: list[Tensors], rate: tf.Tensor) -> tf.Tensor:
        losses = self._step(batches, rate)
        self._names = tuple(losses)
        return tf.stack(list(losses.values()))

    def _take_several(self, upcoming: Iterator[Tensors], rates: tf.Tensor) -> tf.Tensor:
        losses = tf.TensorSpec([None], tf.float32)
        return tf.map_fn(
            lambda rate: self._take([next(upcoming)], rate), rates, parallel_iterations=1, fn_output_signature=losses
        )


def _share(batch: Tensors, replicas: int) -> Tensors:
    """Return this device's part of a worker's batch."""
    if replicas == 1:
        return batch
    number = tf.distribute.get_replica_context().replica_id_in_sync_group % replicas

    def part(tensor: tf.Tensor) -> tf.Tensor:
        size = tf.shape(tensor)[0] // replicas
        return tf.ensure_shape(tensor[number * size : (number + 1) * size], [None, *tensor.shape[1:]])

    return tf.nest.map_structure(part, batch)
