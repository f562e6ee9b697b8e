"""Whether a probability means what it says: of answers given with 0.8, four out of five should be right.

Answers are sorted into bins by their probability; the expected calibration error is the mean distance between a bin's
mean probability and its share of right answers, each bin by its share of the answers (Guo et al., arXiv:1706.04599).
"""

import numpy as np

BINS = 15


def bins_of(probability: np.ndarray) -> np.ndarray:
    """0 to 14; a probability on an edge belongs below, as the paper has it."""
    return np.clip(np.ceil(probability * BINS).astype(np.int64) - 1, 0, BINS - 1)


def calibration_errors(probability: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(weightings,) for answers (n,) and how often each counts, (weightings, n)."""
    in_bin = np.eye(BINS)[bins_of(probability)]
    distances = np.abs(weights @ (in_bin * (probability - right)[:, None]))
    return distances.sum(axis=1) / np.maximum(weights.sum(axis=1), 1)


def reliability(probability: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """A row for each bin that has answers: their mean probability, the share of right ones, how many."""
    bins = bins_of(probability)
    return [
        {
            "probability": round(float(probability[bins == number].mean()), 4),
            "accuracy": round(float(right[bins == number].mean()), 4),
            "examples": int((bins == number).sum()),
        }
        for number in np.unique(bins)
    ]
