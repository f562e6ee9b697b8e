"""A small detector without anchors whose answers differ from point to point and class to class."""

from functools import cache

import keras
import numpy as np

from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import make_task

CLASSES = ("ball", "cube", "cone")
MODEL = PointDetector(input_size=64, width=0.125, bins=8)


@cache
def drawn_network() -> tuple[keras.Model, Detection]:
    keras.utils.set_random_seed(3)
    network, draw = MODEL.build(len(CLASSES)), np.random.default_rng(0)
    for weight in network.weights:
        if weight.path.startswith("head.") and "norm" not in weight.path:
            weight.assign(draw.normal(0, 0.3, weight.shape))
    task = make_task(MODEL, CLASSES)
    assert isinstance(task, Detection)
    return network, task


def images(count: int) -> np.ndarray:
    """Smooth pixels of the network's size."""
    coarse = np.random.default_rng(1).integers(0, 256, (count, 8, 8, 3)).astype(np.float32)
    return coarse.repeat(8, axis=1).repeat(8, axis=2)
