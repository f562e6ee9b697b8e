"""Networks with random weights that answer something, and their files."""

from functools import cache

import keras
import numpy as np

from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.task import Task, make_task

CLASSES = ("ant", "bee", "Käfer, großer")
MODELS = {
    "detection": Ssd(input_size=64, width=0.25, pyramid_channels=8, anchors=Anchors(scale=2.0, octave_steps=2)),
    "classification": Cnn(input_size=24, width=0.25),
    "several labels": Cnn(input_size=24, width=0.25),
    "video": ClipCnn(input_size=16, frames=3, width=0.25),
}


@cache
def opinionated(kind: str) -> tuple[keras.Model, Task]:
    """Its answers differ from image to image and class to class."""
    keras.utils.set_random_seed(4)
    model = MODELS[kind]
    network = model.build(len(CLASSES))
    draw = np.random.default_rng(0)
    for weight in network.weights:
        layer, _, name = weight.path.rpartition("/")
        if layer in ("head.boxes", "head.classes"):
            weight.assign(draw.normal(0, 0.08, weight.shape))
        elif name in ("bias", "beta"):
            weight.assign(draw.normal(0, 0.3, weight.shape))
    return network, make_task(model, CLASSES, multi_label=kind == "several labels")


def examples(kind: str, count: int) -> np.ndarray:
    """Smooth pixels of the network's size."""
    model = MODELS[kind]
    frames = (model.frames,) if model.task == "video" else ()
    coarse = np.random.default_rng(1).integers(0, 256, (count, *frames, 4, 4, 3)).astype(np.float32)
    times = model.input_size // 4
    return coarse.repeat(times, axis=-3).repeat(times, axis=-2)
