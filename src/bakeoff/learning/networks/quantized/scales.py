"""How whole numbers of 8 bits stand for others; nothing here needs TensorFlow."""

import numpy as np

LAYER = "ranges"  # of a network, which has the variables of its ranges; it comes after all others
LEVELS = 255  # steps of a map's range, so 256 values
WEIGHT_LEVELS = 127  # of weights on either side of 0
LEAST = 1e-6  # of a range, and of a channel's greatest weight


def scales_of(kernel: np.ndarray) -> np.ndarray:
    """Return the scale of each channel, the last axis."""
    greatest = np.abs(kernel).max(axis=tuple(range(kernel.ndim - 1)))
    return np.maximum(greatest, np.float32(LEAST)) / np.float32(WEIGHT_LEVELS)
