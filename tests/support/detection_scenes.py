"""Eight scenes that a detector can learn by heart, and the check that it did."""

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.set_detector import SetDetector
from bakeoff.learning.networks.yolox import Yolox
from bakeoff.learning.plan.optimizers import Momentum, Optimizer
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import answer_in_training
from bakeoff.learning.training.step import Step
from support.classifier_trials import without_gradient

CLASSES = ("white", "black")
STEPS_BEFORE_A_LOOK, MOST_STEPS = 10, 200  # most networks have learned all after 40 to 70
MOMENTUM = Momentum()  # which is compiled twice as fast as Adam
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
    return {name: tf.ragged.stack([example[name] for example in encoded]).to_tensor() for name in encoded[0]}


def learn_by_heart(
    network: keras.Model, task: Detection, images: np.ndarray, truth: list[Scene], near: float, share: float = 0.1,
    most: int = MOST_STEPS, optimizer: Optimizer = MOMENTUM, rate: float = 0.03,
) -> None:  # fmt: skip
    """Train until all is found, with the loss, without what the weights themselves cost, at that share of the first."""
    step = Step(network, optimizer.build(network), task)
    batch = {"image": tf.constant(images)} | targets_of(truth, task)
    losses: list[float] = []
    missed: object = "all"
    while missed:
        assert len(losses) < most, (missed, losses)
        taken = [step([batch], tf.constant(rate)) for _ in range(STEPS_BEFORE_A_LOOK)]
        losses += [float(loss["train/loss_classes"] + loss["train/loss_boxes"]) for loss in taken]
        if losses[-1] < share * losses[0]:
            missed = find_missed(network, task, images, truth, near)


def untouched_weights(network: keras.Model, task: Detection, images: np.ndarray) -> list[str]:
    """Paths of the trainable weights that get no gradient from a box of every level, or one that is 0 or huge."""
    boxes = _box_of_each_level(task)
    example = {"boxes": tf.constant(boxes), "classes": tf.constant(np.arange(len(boxes)) % 3 + 1)}
    targets = {name: tf.stack([value] * len(images)) for name, value in task.encode(example).items()}
    with tf.GradientTape() as tape:
        outputs = answer_in_training(network, {"image": images} | targets)
        loss = tf.add_n(list(task.losses(outputs, targets).values()))
    return without_gradient(network, tape.gradient(loss, network.trainable_variables))


def _box_of_each_level(task: Detection) -> np.ndarray:
    settings = task.model
    if isinstance(settings, SetDetector):  # whose queries begin anywhere
        return np.array([[0.1, 0.2, 0.3, 0.5], [0.4, 0.1, 0.9, 0.9]], np.float32)
    if isinstance(settings, PointDetector | Yolox):
        sizes = [(settings.input_size // stride) ** 2 for stride in settings.strides]
    else:
        levels = settings.anchors.levels(settings.input_size, settings.strides)
        sizes = [len(centres) ** 2 * len(shapes) for centres, shapes in levels]
    return task.head.anchors[np.cumsum(sizes) - 1]


def find_missed(network: keras.Model, task: Detection, images: np.ndarray, truth: list[Scene], near: float) -> object:
    """The first scene without as many detections as boxes, or without one of the right class within `near` of each."""
    predictions = {name: value.numpy() for name, value in task.predict(network(images, training=False)).items()}
    for number, scene in enumerate(truth):
        count = predictions["count"][number]
        given = list(zip(predictions["boxes"][number][:count], predictions["classes"][number][:count], strict=True))
        if len(given) != len(scene):
            return number, given, scene
        for box, label in scene:
            labels = [label_given for corners, label_given in given if np.abs(corners - box).max() < near]
            if labels != [label]:
                return number, box, given
    return None
