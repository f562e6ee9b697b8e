"""Uncertainty and features of pictures -> the few that teach most: unsure ones, unlike all known ones.

Uncertainty alone chooses fifty views of one hard scene, distance alone chooses pictures that show nothing. So one
picture is chosen at a time: the one with the highest product of its uncertainty and its distance to the nearest
picture of the training set or of those chosen before.
"""

import numpy as np

FLOOR = 0.05  # the least uncertainty: a network may be sure and wrong about things that it has never seen


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
