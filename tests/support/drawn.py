"""A detector with weights of chance."""

from typing import Any

import keras
import numpy as np

from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import make_task
from support.lite_files import CLASSES


def draw(model: Any) -> tuple[keras.Model, Detection]:
    """Return a network whose answers differ from place to place and class to class."""
    keras.utils.set_random_seed(1)
    network, random = model.build(len(CLASSES)), np.random.default_rng(0)
    for weight in network.weights:
        name = weight.path.rpartition("/")[2]
        if name in ("beta", "bias"):
            weight.assign(random.normal(0, 0.5, weight.shape))
        elif name == "gamma":
            weight.assign(random.uniform(1, 3, weight.shape))
        elif "head" in weight.path and name == "kernel":
            weight.assign(random.normal(0, 0.05, weight.shape))
    task = make_task(model, CLASSES)
    assert isinstance(task, Detection)
    return network, task
