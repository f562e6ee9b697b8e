"""Which example comes when, by arithmetic: a global shuffle without a buffer, or the order that a buffer would give.

The stream of training examples is one permutation after another; step s of batch size b takes positions
s*b .. s*b+b-1 of it. So every example comes exactly once an epoch, every batch is full, and any step's
batch can be named without the ones before.

With windows, the examples go in the order of the shards through a buffer of so many, or several one after the other.
Each time, one of those in the buffer is drawn, and the next takes its place; at the end of the epoch it empties. Only
numbers go through it here, so its choices, too, are known for any step at once.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True)
class Order:
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
        return _permutation(self.examples, self.seed, number, self.windows)

    def furthest(self, place: int) -> int:
        """How many examples, from the first, must have been read to give the one at this place of an epoch."""
        return min(self.examples, place + 1 + sum(window - 1 for window in self.windows))


@lru_cache(maxsize=2)  # a batch can reach from one epoch into the next
def _permutation(examples: int, seed: int, epoch: int, windows: tuple[int, ...]) -> np.ndarray:
    draw = np.random.default_rng([seed, epoch])
    if not windows:
        return draw.permutation(examples)
    order = np.arange(examples)
    for window in windows:
        order = order[_through(min(window, examples), examples, draw)]
    return order


def _through(window: int, examples: int, draw: np.random.Generator) -> np.ndarray:
    """0 .. examples-1 as a buffer gives them."""
    held = list(range(window))
    given = []
    for following, slot in enumerate(draw.integers(0, window, examples - window).tolist(), start=window):
        given.append(held[slot])
        held[slot] = following
    return np.concatenate([np.array(given, np.int64), draw.permutation(held)])
