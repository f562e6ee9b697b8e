"""Which example comes when: a global shuffle by arithmetic, without a buffer.

The stream of training examples is one permutation after another; step s of batch size b takes positions
s*b .. s*b+b-1 of it. So every example comes exactly once an epoch, every batch is full, and any step's
batch can be named without the ones before.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True)
class Order:
    examples: int
    seed: int

    def at(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(epoch, example) at these positions of the stream, each of the shape of `positions`."""
        epochs, places = np.divmod(positions, self.examples)
        examples = np.empty_like(places)
        for epoch in np.unique(epochs):
            chosen = epochs == epoch
            examples[chosen] = _permutation(self.examples, self.seed, int(epoch))[places[chosen]]
        return epochs, examples


@lru_cache(maxsize=2)  # a batch can reach from one epoch into the next
def _permutation(examples: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(examples)
