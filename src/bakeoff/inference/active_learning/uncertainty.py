"""What a network answers about a picture -> how unsure it is, from 0 to 1."""

import math

import numpy as np

LEAST_SCORE = 0.1  # boxes below this do not count, because a detector gives many that mean nothing


def measure_uncertainty(answer: dict[str, np.ndarray]) -> float:
    """Return the uncertainty of an answer: one label, several labels, or boxes.

    One label: the entropy of the classes' probabilities, as a share of the most that it can be. Several labels: the
    mean over the labels. Boxes: the mean over the boxes and the most unsure box, half each, so that a picture with one
    doubtful box among many sure ones counts, too.
    """
    if "probabilities" in answer:
        shares = np.clip(np.asarray(answer["probabilities"], np.float64), 1e-12, 1)
        return float(-(shares * np.log(shares)).sum() / math.log(len(shares))) if len(shares) > 1 else 0.0
    scores = np.asarray(answer["scores"], np.float64)
    if "boxes" not in answer:
        return float(_doubt(scores).mean())
    doubts = _doubt(scores[scores >= LEAST_SCORE])
    return float((doubts.mean() + doubts.max()) / 2) if len(doubts) else 0.0


def _doubt(scores: np.ndarray) -> np.ndarray:
    """Return the entropy of yes and no in bits: 1 at a score of a half."""
    sure = np.clip(scores, 1e-12, 1 - 1e-12)
    return -(sure * np.log2(sure) + (1 - sure) * np.log2(1 - sure))
