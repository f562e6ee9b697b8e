"""Which example comes when, by arithmetic: a global shuffle without a buffer, or the order that a buffer would give.

The stream of training examples is one permutation after another; step s of batch size b takes positions
s*b .. s*b+b-1 of it. So every example comes exactly once an epoch, every batch is full, and any step's
batch can be named without the ones before.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bakeoff.learning.input.record_reader import RecordReader

Read = Callable[[np.ndarray], tuple[np.ndarray, Sequence[bytes] | np.ndarray]]


@dataclass(frozen=True)
class ExampleOrder:
    """With windows, the examples go in the order of the shards through a buffer of so many, or several in a row.

    Each time, one of those in the buffer is drawn, and the next takes its place; at the end of the epoch it empties.
    Only numbers go through it here, so its choices, too, are known for any step at once.
    """

    examples: int
    seed: int
    windows: tuple[int, ...] = ()  # none: the shuffle is global

    def at(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(epoch, example) at these positions of the stream, each of the shape of `positions`."""
        epochs, places = np.divmod(positions, self.examples)
        examples = np.empty_like(places)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            examples[chosen] = self.epoch(int(epoch))[places[chosen]]
        return epochs, examples

    def epoch(self, number: int) -> np.ndarray:
        """All examples, as they come in this epoch."""
        return _permute(self.examples, self.seed, number, self.windows)

    def furthest(self, place: int) -> int:
        """How many examples, from the first, must have been read to give the one at this place of an epoch."""
        return min(self.examples, place + 1 + sum(window - 1 for window in self.windows))


@lru_cache(maxsize=2)  # a batch can reach from one epoch into the next
def _permute(examples: int, seed: int, epoch: int, windows: tuple[int, ...]) -> np.ndarray:
    draw = np.random.default_rng([seed, epoch])
    if not windows:
        return draw.permutation(examples)
    order = np.arange(examples)
    for window in windows:
        order = order[_pass_through(min(window, examples), examples, draw)]
    return order


def _pass_through(window: int, examples: int, draw: np.random.Generator) -> np.ndarray:
    """Return 0 .. examples-1 as a buffer gives them."""
    held = list(range(window))
    given = []
    for following, slot in enumerate(draw.integers(0, window, examples - window).tolist(), start=window):
        given.append(held[slot])
        held[slot] = following
    return np.concatenate([np.array(given, np.int64), draw.permutation(held)])


class SequentialReader:
    """Reads examples from the first record to the last, as a store that cannot seek must be read, for a buffer's order.

    `read` is for positions that follow each other; any other is a resume, for which the buffer is filled with exactly
    what it held there. What the order has not given yet is held as encoded bytes.
    """

    def __init__(self, store: RecordReader, order: ExampleOrder) -> None:
        self._store, self._order = store, order
        self._held: dict[int, bytes | None] = {}
        self._at: tuple[int, int] | None = None  # (epoch, place) that comes next
        self._taken = 0  # so many examples of the epoch were read, from its first
        self._lock = threading.Lock()

    def read(self, positions: np.ndarray) -> list[bytes | None]:
        with self._lock:
            return [self._next(*divmod(int(position), self._order.examples)) for position in positions]

    @property
    def held(self) -> int:
        """Examples in memory."""
        return len(self._held)

    def _next(self, epoch: int, place: int) -> bytes | None:
        examples = self._order.epoch(epoch)
        if self._at != (epoch, place):
            self._held, self._taken = {}, 0
            self._take(self._order.furthest(place), without=set(examples[:place].tolist()))
        self._take(self._order.furthest(place))
        last = place + 1 == self._order.examples
        self._at = (epoch + 1, 0) if last else (epoch, place + 1)
        self._taken = 0 if last else self._taken
        return self._held.pop(int(examples[place]))

    def _take(self, end: int, without: Collection[int] = ()) -> None:
        wanted = [number for number in range(self._taken, end) if number not in without]
        self._held |= dict(zip(wanted, self._store.read(np.array(wanted, np.int64)), strict=True))
        self._taken = max(self._taken, end)


def make_training_reader(store: RecordReader, order: ExampleOrder) -> Read:
    """Return what gives ((n, 2) epoch and example, data) at n positions.

    The place of a damaged example is taken by the next one of the epoch's order that is whole, and at the end by the
    epoch's first: a rule of the position alone, so any step's batch can still be named without the ones before.
    """
    sequential = SequentialReader(store, order) if order.windows else None

    def read(positions: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
        epochs, examples = order.at(positions)
        records = sequential.read(positions) if sequential else store.read(examples)
        data = []
        for row, position in enumerate(positions):
            whole = records[row]
            if whole is None:
                examples[row], whole = find_next_whole(store, order, int(position))
            data.append(whole)
        return np.stack([epochs, examples], axis=-1), data

    return read


def find_next_whole(store: RecordReader, order: ExampleOrder, position: int) -> tuple[int, bytes]:
    """Return the next example after a position that is whole, of the same epoch, and its data."""
    epoch, place = divmod(position, order.examples)
    for ahead in range(1, order.examples):
        _, [example] = order.at(np.array([epoch * order.examples + (place + ahead) % order.examples]))
        [data] = store.read(np.array([example]))
        if data is not None:
            return int(example), data
    raise store.failure(f"{next(iter(store.bad.values()))}; and so is every other record of the split")


def make_evaluation_reader(store: RecordReader) -> Read:
    """Return what gives the numbers of those that are whole, and their data."""

    def read(numbers: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
        records = dict(zip(numbers.tolist(), store.read(numbers), strict=True))
        whole = {number: data for number, data in records.items() if data is not None}
        return np.array(list(whole), np.int64), list(whole.values())

    return read
