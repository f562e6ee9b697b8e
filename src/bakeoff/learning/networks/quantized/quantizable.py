"""A network that can learn in eight bits: it is the plain one until its ranges are active."""

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.quantized.graph import rebuild
from bakeoff.learning.networks.quantized.ranges import FakeQuantize, Ranges
from bakeoff.learning.networks.quantized.scales import LAYER


class Quantizable(keras.Model):
    """The graph of a network with a layer more, `ranges`. Its own weights have the names and places they had."""

    def __init__(self, network: keras.Model) -> None:
        super().__init__(inputs=network.input, outputs=network.output, name=network.name)
        eight, groups = rebuild(network)
        self.ranges = Ranges(len(groups))
        _take(self.ranges, groups)
        # Hidden from Keras, for neither has variables of its own.
        self._eight: Callable[[], keras.Model] = lambda: eight
        self._groups: Callable[[], list[list[FakeQuantize]]] = lambda: groups
        self._plain: Callable[[], keras.Model] = lambda: network

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        if self.ranges.is_active:
            return self._eight()(inputs, training=training)
        return super().call(inputs, training=training, mask=mask)

    @property
    def is_active(self) -> bool:
        """Tell whether it computes in eight bits."""
        return self.ranges.is_active

    def for_files(self) -> keras.Model:
        """Return the graph in eight bits with its weights as numbers, as converters recognise them."""
        network, groups = rebuild(self._plain(), constant=True)
        _take(self.ranges, groups, constant=True)
        return network

    def in_floats(self) -> keras.Model:
        """Return the graph without eight bits, on the same variables."""
        return self._plain()

    def activate(self, images: Iterable[tf.Tensor]) -> None:
        """Begin to compute in eight bits, with the means over batches of what each map reaches on these images."""
        eight, groups = self._eight(), self._groups()

        @compile_graph
        def watch(batch: tf.Tensor) -> tf.Tensor:
            for layer in itertools.chain(*groups):
                layer.seen = []
            eight(batch, training=False)
            reached = [_reach([ends for layer in group for ends in layer.seen or ()]) for group in groups]
            for layer in itertools.chain(*groups):
                layer.seen = None
            return tf.stack(reached)

        reached = np.mean([watch(batch).numpy() for batch in images], axis=0)
        self.ranges.ends.assign(reached)
        self.ranges.active.assign(1.0)


def _take(ranges: Ranges, groups: list[list[FakeQuantize]], *, constant: bool = False) -> None:
    for number, group in enumerate(groups):
        for layer in group:
            layer.take(ranges, number, constant=constant)


def _reach(ends: list[tf.Tensor]) -> tf.Tensor:
    """Return the least and the greatest of maps that share a range."""
    rows = tf.stack(ends)
    return tf.stack([tf.reduce_min(rows[:, 0]), tf.reduce_max(rows[:, 1])])


def has_ranges(path: Path) -> bool:
    """Tell whether a file of weights is that of a network with ranges."""
    try:
        with h5py.File(path, "r") as file:
            return LAYER in file
    except (OSError, RuntimeError, KeyError, ValueError):  # of HDF5; whoever loads it says what is wrong with it
        return False


def network_in_floats(network: keras.Model) -> keras.Model:
    """Return the graph without eight bits of any network."""
    return network.in_floats() if isinstance(network, Quantizable) else network


def eight_bits_of(network: keras.Model) -> keras.Model | None:
    """Return the graph in eight bits as files have it; None of a network that does not compute so."""
    return network.for_files() if isinstance(network, Quantizable) and network.is_active else None


def is_active(network: keras.Model) -> bool:
    return isinstance(network, Quantizable) and network.is_active
