"""What training changes: the weights, their average, the optimizer's slots, the random states of the layers."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import keras
import numpy as np
import tensorflow as tf
from keras.src.random.seed_generator import global_seed_generator

from bakeoff.foundation.errors import DataError
from bakeoff.learning.networks.network import Network, Parts, select
from bakeoff.learning.networks.quantized.quantizable import Quantizable
from bakeoff.learning.networks.weights import build, train_only
from bakeoff.learning.plan.optimizers import Optimizer
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.tasks.task import Task, Tensors
from bakeoff.learning.training.accelerators import normalise_over_all_devices, precision
from bakeoff.learning.training.average import Average
from bakeoff.learning.training.step import Slow, Step

Arrays = Mapping[str, np.ndarray]
# In the keys of a checkpoint. The second holds states of generators that are no variables.
AVERAGE, OUTSIDE = "average", "random"
T = TypeVar("T")


def new_learner(
    model: Network, num_classes: int, task: Task, optimizer: Optimizer, train: Train, strategy: tf.distribute.Strategy
) -> "Learner":
    """With random weights, which train.init may replace."""
    with strategy.scope(), precision(train.mixed_precision):
        network = build(model, num_classes, quantizes=train.quantizes)
        average = Average(network, train.ema_decay) if train.ema_decay else None
    normalise_over_all_devices(network, strategy)
    paths = [variable.path for variable in network.trainable_variables]
    slow = Slow(frozenset(select(paths, train.slow, model.parts)), train.slow_rate) if train.slow else None
    return Learner(
        network, average=average, parts=model.parts, task=task, optimizer=optimizer, strategy=strategy, slow=slow
    )


class Learner:
    def __init__(
        self,
        network: keras.Model,
        *,
        average: Average | None,
        parts: Parts,
        task: Task,
        optimizer: Optimizer,
        strategy: tf.distribute.Strategy,
        slow: Slow | None = None,
    ) -> None:
        self.network, self.average, self._slow = network, average, slow
        self._parts, self._task, self._settings, self._strategy = parts, task, optimizer, strategy
        self._optimizer: keras.optimizers.Optimizer | None = None
        with strategy.scope():
            self._seeds = keras_random_state()

    @contextmanager
    def kept(self) -> Iterator[keras.Model]:
        """Yield what is validated, saved and exported: the network, with its averages if there are any."""
        with self.average.in_network() if self.average else nullcontext():
            yield self.network

    def require_trainable(self, patterns: tuple[str, ...], key: str) -> None:
        train_only(self.network, patterns, self._parts, key)

    def begin_eight_bits(self, images: Iterable[tf.Tensor]) -> None:
        """From here on the network computes in eight bits, in ranges that these images reach."""
        assert isinstance(self.network, Quantizable)
        self.network.activate(images)

    def begin(self, trainable: tuple[str, ...], key: str, ranges_learn: int | None = None) -> Step:
        """Begin a phase, with an optimizer without a past and an average that starts from the weights as they are.

        `ranges_learn`: for how many steps ranges of eight bits are learnt.
        """
        train_only(self.network, trainable, self._parts, key, ranges_learn=ranges_learn is not None)
        if self.average:
            self.average.begin()
        with self._strategy.scope():
            self._optimizer = self._settings.build(self.network)
        return Step(
            self.network, self._optimizer, self._task,
            average=self.average, strategy=self._strategy, ranges_learn=ranges_learn, slow=self._slow,
        )  # fmt: skip

    def state(self) -> dict[str, tf.Tensor | np.ndarray]:
        """Everything that the next step depends on, as it is now: what is updated later moves away from these."""
        variables = {name: variable.value.read_value() for name, variable in self._variables().items()}
        return (
            variables
            | self._averages()
            | {f"{OUTSIDE}/{name}": state for name, state in random_states_outside_keras().items()}
        )

    def restore(self, arrays: Arrays) -> None:
        variables, averages = self._variables(), self._averages()
        outside = {f"{OUTSIDE}/{name}": state for name, state in random_states_outside_keras().items()}
        if {name: tuple(value.shape) for name, value in (variables | averages | outside).items()} != {
            name: array.shape for name, array in arrays.items()
        }:
            raise DataError("the checkpoint holds other variables than this run; train.fresh: true starts over")
        for name, variable in variables.items():
            variable.assign(arrays[name])
        if self.average:
            self.average.assign([arrays[name] for name in averages])
        restore_random_states({name.removeprefix(f"{OUTSIDE}/"): arrays[name] for name in outside})

    def count_gradients(self, step: Step, batch: Tensors) -> Arrays:
        """Return those of a batch at the weights as they are; what a batch changes even so (the statistics of batch
        norms, random states) is put back."""
        before = {name: np.array(value) for name, value in self.state().items()}
        gradients = {path: gradient.numpy() for path, gradient in step.count_gradients(batch).items()}
        self.restore(before)
        return gradients

    @property
    def kept_names(self) -> dict[str, str]:
        """The path of each of `kept_weights`."""
        return _numbered([weight.path for weight in self.network.weights])

    @property
    def kept_in_state(self) -> dict[str, str]:
        """Which arrays of `state` are the kept weights, with the path of each."""
        if self.average:
            return {f"{AVERAGE}/{number}": path for number, path in self.kept_names.items()}
        paths = {id(weight): weight.path for weight in self.network.weights}
        return {name: paths[id(variable)] for name, variable in self._variables().items() if id(variable) in paths}

    def kept_weights(self) -> dict[str, tf.Tensor]:
        if self.average:
            return _numbered(self.average.values())
        return _numbered([weight.value.read_value() for weight in self.network.weights])

    def start_from(self, kept: Arrays) -> None:
        """The weights of `kept_weights`; random states go on from where they are."""
        for number, weight in _numbered(self.network.weights).items():
            weight.assign(kept[number])

    def keep(self, kept: Arrays) -> None:
        """Once training is over: these, not the last ones."""
        if self.average:
            self.average.assign([kept[number] for number in _numbered(self.network.weights)])
        else:
            self.start_from(kept)

    def _averages(self) -> dict[str, tf.Tensor]:
        values = self.average.values() if self.average else []
        return {f"{AVERAGE}/{number}": value for number, value in _numbered(values).items()}

    def _variables(self) -> dict[str, keras.Variable]:
        # By number, for names that Keras makes up differ from one process to the next.
        assert self._optimizer is not None
        holders = {
            "network": self.network.variables,  # random states of layers among them
            "optimizer": self._optimizer.variables,
            "seeds": [self._seeds],
        }
        return {
            f"{holder}/{number}": variable
            for holder, variables in holders.items()
            for number, variable in _numbered(variables).items()
        }


def _numbered(ones: Sequence[T]) -> dict[str, T]:
    return {f"{number:05d}": one for number, one in enumerate(ones)}


# Random states that belong to no layer: Keras', from which a layer draws that was given no seed, Python's and NumPy's.
# TensorFlow's old random operations (`tf.random.uniform`) keep theirs where nobody can read it; no layer uses them.
PYTHON, NUMPY, IN_HAND = "python", "numpy", "in_hand"


def keras_random_state() -> keras.Variable:
    """Made now if it was not yet: made while a step is traced, its seed would depend on when that is."""
    return global_seed_generator().state


def random_states_outside_keras() -> dict[str, np.ndarray]:
    """The words of each generator, last of them whether it has a normal number in hand; and these numbers."""
    _, state_words, normal = random.getstate()
    _, keys, place, has_normal, other_normal = np.random.get_state()
    return {
        PYTHON: np.array([*state_words, normal is not None], np.uint32),
        NUMPY: np.array([*keys, place, has_normal], np.uint32),
        IN_HAND: np.array([normal or 0.0, other_normal]),
    }


def restore_random_states(states: Mapping[str, np.ndarray]) -> None:
    *state_words, has_normal = states[PYTHON].tolist()
    *keys, place, has_other = states[NUMPY].tolist()
    normal, other = states[IN_HAND].tolist()
    random.setstate((3, tuple(state_words), normal if has_normal else None))
    np.random.set_state(("MT19937", np.array(keys, np.uint32), place, has_other, other))
