"""Answers and features of pictures -> how unsure each is, and the few that teach most: unsure ones, unlike known ones.

Uncertainty alone chooses fifty views of one hard scene, distance alone chooses pictures that show nothing. So one
picture is chosen at a time: the one with the highest product of its uncertainty and its distance to the nearest
picture of the training set or of those chosen before.
"""

import math

import numpy as np

LEAST_SCORE = 0.1  # boxes below this do not count, because a detector gives many that mean nothing
FLOOR = 0.05  # the least uncertainty: a network may be sure and wrong about things that it has never seen


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


def choose_pictures(
    uncertainty: np.ndarray, features: np.ndarray, known: np.ndarray, count: int
) -> list[tuple[int, float]]:
    """Return the number of each chosen picture, the best first, and its distance when it was chosen.

    `features` (n, channels) are those of the candidates, `known` (m, channels) those of the training set; m may be 0.
    """
    everything = np.concatenate([known, features])
    scale = np.maximum(everything.std(0), 1e-6)
    scaled, trained = features / scale, known / scale
    distance = np.full(len(scaled), np.inf)
    for index in range(len(trained)):
        distance = np.minimum(distance, ((scaled - trained[index]) ** 2).sum(1))
    if not len(trained):
        distance = ((scaled - scaled.mean(0)) ** 2).sum(1)
    weight = np.maximum(uncertainty, FLOOR)
    chosen: list[tuple[int, float]] = []
    free = np.ones(len(scaled), bool)
    for _ in range(min(count, len(scaled))):
        best = int(np.argmax(np.where(free, weight * np.sqrt(distance), -1.0)))
        chosen.append((best, float(np.sqrt(distance[best]))))
        free[best] = False
        from_best = ((scaled - scaled[best]) ** 2).sum(1)
        distance = from_best if not len(trained) and len(chosen) == 1 else np.minimum(distance, from_best)
    return chosen
