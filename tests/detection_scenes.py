"""Eight scenes that a detector can learn by heart, and the check that it did."""

import keras
import numpy as np
import tensorflow as tf

from bakeoff.tasks.detection import Detection
from bakeoff.training.optimizers import Momentum
from bakeoff.training.step import Step

CLASSES = ("white", "black")
Scene = list[tuple[np.ndarray, int]]  # boxes as shares of the image, with their class


def draw_scenes(size: int, sides: tuple[int, int]) -> tuple[np.ndarray, list[Scene]]:
    """White squares are of class 1, black ones of class 2, on grey; one or two a scene, in halves of their own."""
    draw = np.random.default_rng(1)
    images = np.full((8, size, size, 3), 128, np.float32) + draw.normal(0, 8, (8, size, size, 3)).astype(np.float32)
    truth = []
    for number, image in enumerate(images):
        scene = []
        for half in range(1 + number % 2):
            side = int(draw.integers(*sides))
            top = int(draw.integers(0, size // 2 + 1 - side)) + size // 2 * half
            left = int(draw.integers(0, size + 1 - side))
            label = int(draw.integers(1, 3))
            image[top : top + side, left : left + side] = 255 if label == 1 else 0
            scene.append((np.array([top, left, top + side, left + side]) / size, label))
        truth.append(scene)
    return images, truth


def targets_of(truth: list[Scene], task: Detection) -> dict[str, tf.Tensor]:
    encoded = [
        task.encode(
            {
                "boxes": tf.constant([box for box, _ in scene], tf.float32),
                "classes": tf.constant([label for _, label in scene], tf.int64),
            }
        )
        for scene in truth
    ]
    return {name: tf.stack([example[name] for example in encoded]) for name in encoded[0]}


def learn_by_heart(
    network: keras.Model, task: Detection, images: np.ndarray, truth: list[Scene], *, steps: int, rate: float = 0.03
) -> list[float]:
    """The losses on the way, without what the weights themselves cost."""
    targets = targets_of(truth, task)
    step = Step(network, Momentum().build(network), task)  # which is compiled twice as fast as Adam
    batch = {"image": tf.constant(images)} | targets
    losses = [step([batch], tf.constant(rate)) for _ in range(steps)]
    return [float(loss["train/loss_classes"] + loss["train/loss_boxes"]) for loss in losses]


def require_found(network: keras.Model, task: Detection, images: np.ndarray, truth: list[Scene], near: float) -> None:
    """As many detections as boxes, and one of the right class within `near` of each."""
    found = {name: value.numpy() for name, value in task.predict(network(images, training=False)).items()}
    for number, scene in enumerate(truth):
        count = found["count"][number]
        given = list(zip(found["boxes"][number][:count], found["classes"][number][:count], strict=True))
        assert len(given) == len(scene), (number, given, scene)
        for box, label in scene:
            labels = [label_given for corners, label_given in given if np.abs(corners - box).max() < near]
            assert labels == [label], (number, box, given)
