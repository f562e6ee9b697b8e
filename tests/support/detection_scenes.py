"""Eight scenes that a detector can learn by heart, and the check that it did."""

import keras
import numpy as np
import tensorflow as tf

from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.training.step import Step

CLASSES = ("white", "black")
STEPS_BEFORE_A_LOOK, MOST_STEPS = 10, 200  # most networks have learned all after 40 to 70
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
    network: keras.Model, task: Detection, images: np.ndarray, truth: list[Scene], near: float, share: float = 0.1
) -> None:
    """Train until all is found, with the loss, without what the weights themselves cost, at that share of the first."""
    step = Step(network, Momentum().build(network), task)  # which is compiled twice as fast as Adam
    batch = {"image": tf.constant(images)} | targets_of(truth, task)
    losses: list[float] = []
    missed: object = "all"
    while missed:
        assert len(losses) < MOST_STEPS, (missed, losses)
        taken = [step([batch], tf.constant(0.03)) for _ in range(STEPS_BEFORE_A_LOOK)]
        losses += [float(loss["train/loss_classes"] + loss["train/loss_boxes"]) for loss in taken]
        if losses[-1] < share * losses[0]:
            missed = find_missed(network, task, images, truth, near)


def count_weights_with_a_gradient(network: keras.Model, task: Detection, images: np.ndarray) -> int:
    """Count the weights that train; each must get a gradient from a box in two images that is neither 0 nor huge."""
    example = {"boxes": tf.constant([[0.1, 0.1, 0.4, 0.4]]), "classes": tf.constant([2], tf.int64)}
    targets = {name: tf.stack([value] * 2) for name, value in task.encode(example).items()}
    with tf.GradientTape() as tape:
        loss = tf.add_n(list(task.losses(network(images, training=True), targets).values()))
    gradients = tape.gradient(loss, network.trainable_variables)
    size = {
        weight.path: 0.0 if gradient is None else float(tf.reduce_max(tf.abs(gradient)))
        for weight, gradient in zip(network.trainable_variables, gradients, strict=True)
    }
    # A bias before batch norm has none; there is no such bias here.
    assert [path for path, largest in size.items() if not 1e-12 < largest < 1e6] == []
    return len(size)


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
