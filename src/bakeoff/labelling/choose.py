"""Uncertainty and features of pictures -> the few that teach most: unsure ones that are unlike all that is known.

Uncertainty alone takes fifty views of one hard scene, distance alone takes pictures that show nothing. So one picture
is taken at a time: the one with the highest product of its uncertainty and its distance to the nearest picture that is
trained on or taken already.
"""

import numpy as np

FLOOR = 0.05  # of uncertainty: a network may be sure and wrong about what it has never seen


def choose(uncertainty: np.ndarray, features: np.ndarray, known: np.ndarray, count: int) -> list[tuple[int, float]]:
    """Return the number of each chosen picture, the best first, and its distance when it was taken.

    `features` (n, channels) are those of the candidates, `known` (m, channels) those of the training set; m may be 0.
    """
    everything = np.concatenate([known, features])
    scale = np.maximum(everything.std(0), 1e-6)
    own, trained = features / scale, known / scale
    distance = np.full(len(own), np.inf)
    for place in range(len(trained)):
        distance = np.minimum(distance, ((own - trained[place]) ** 2).sum(1))
    if not len(trained):
        distance = ((own - own.mean(0)) ** 2).sum(1)
    weight = np.maximum(uncertainty, FLOOR)
    chosen: list[tuple[int, float]] = []
    free = np.ones(len(own), bool)
    for _ in range(min(count, len(own))):
        best = int(np.argmax(np.where(free, weight * np.sqrt(distance), -1.0)))
        chosen.append((best, float(np.sqrt(distance[best]))))
        free[best] = False
        from_best = ((own - own[best]) ** 2).sum(1)
        distance = from_best if not len(trained) and len(chosen) == 1 else np.minimum(distance, from_best)
    return chosen
