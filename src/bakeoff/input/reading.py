"""Positions of the stream -> serialized examples, by Python, for TensorFlow to decode; and what a damaged one gets."""

from collections.abc import Callable

import numpy as np

from bakeoff.input.order import Order
from bakeoff.input.sequential import SequentialReader
from bakeoff.input.store import Store

Read = Callable[[np.ndarray], tuple[np.ndarray, list[bytes]]]


def training_reader(store: Store, order: Order) -> Read:
    """Gives ((n, 2) epoch and example, data) at n positions.

    The place of a damaged example is taken by the next one of the epoch's order that is whole, and at the end by the
    epoch's first: a rule of the position alone, so any step's batch can still be named without the ones before.
    """
    sequential = SequentialReader(store, order) if order.windows else None

    def read(positions: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
        epochs, examples = order.at(positions)
        found = sequential.read(positions) if sequential else store.read(examples)
        data = []
        for row, position in enumerate(positions):
            whole = found[row]
            if whole is None:
                examples[row], whole = next_whole(position)
            data.append(whole)
        return np.stack([epochs, examples], axis=-1), data

    def next_whole(position: int) -> tuple[int, bytes]:
        epoch, place = divmod(int(position), order.examples)
        for ahead in range(1, order.examples):
            _, [example] = order.at(np.array([epoch * order.examples + (place + ahead) % order.examples]))
            [data] = store.read(np.array([example]))
            if data is not None:
                return int(example), data
        raise store.failure(f"{next(iter(store.bad.values()))}; and so is every other record of the split")

    return read


def evaluation_reader(store: Store) -> Read:
    """Gives the numbers of those that are whole, and their data."""

    def read(numbers: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
        found = dict(zip(numbers.tolist(), store.read(numbers), strict=True))
        whole = {number: data for number, data in found.items() if data is not None}
        return np.array(list(whole), np.int64), list(whole.values())

    return read
