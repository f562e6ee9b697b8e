"""A share of the training examples, drawn by the run's seed: `draw_share(600, 0.25, seed=0)` gives 150 numbers.

Of one seed, a larger share holds every example of a smaller one. So runs on several shares tell what more data bring.
"""

import numpy as np

APART = 0x5E7  # keeps these numbers apart from those of the order, which begin with the same seed


def count_share(examples: int, share: float) -> int:
    """Return how many of the examples a share is, one at least."""
    return max(1, round(examples * share))


def draw_share(examples: int, share: float, seed: int) -> np.ndarray | None:
    """Return the numbers of the drawn examples in the order of the shards; None for all of them."""
    if share == 1:
        return None
    drawn = np.random.default_rng([seed, APART]).permutation(examples)
    return np.sort(drawn[: count_share(examples, share)])
