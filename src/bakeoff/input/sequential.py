"""Examples in the order of a buffer, read from the first record to the last, as a store that cannot seek must be.

What the order has not given yet is held as encoded bytes. At the step that a run resumes from, the buffer is
filled with exactly what it held there.
"""

import threading
from collections.abc import Collection

import numpy as np

from bakeoff.input.order import Order
from bakeoff.input.store import Store


class SequentialReader:
    """`read` is for positions that follow each other; any other is a resume."""

    def __init__(self, store: Store, order: Order) -> None:
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
