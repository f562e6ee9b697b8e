"""What a teacher says of a box, `shares` of the classes and `spreads` of sides, in the losses of every detector."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.detector_settings import DetectionLoss
from bakeoff.learning.networks.heads.anchor_matching import class_losses
from bakeoff.learning.networks.point_detector import PointDetector
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import answer_in_training, make_task
from support.small_sets import SMALLEST
from support.tiny_detectors import LITE, MULTIBOX_BY_SOFTMAX, YOLOX

pytestmark = pytest.mark.long

CLASSES = ("a", "b", "c")
DETECTORS = {
    "ssd": Ssd(input_size=64, width=0.25, pyramid_channels=16),
    "ssd_fpn": LITE,
    "ssd_multibox": MULTIBOX_BY_SOFTMAX,
    "points": PointDetector(input_size=64, width=0.0625),
    "yolox": YOLOX,
    "sets": SMALLEST,
    "sets of two parts": replace(SMALLEST, loss=replace(SMALLEST.loss, classes="matched")),
}
WITH_SIDES = ("points", "sets", "sets of two parts")  # that answer distributions of sides
SCENES = [
    ([[0.1, 0.1, 0.6, 0.5], [0.4, 0.5, 0.9, 0.9]], [1, 3]),
    ([[0.2, 0.3, 0.8, 0.9]], [2]),
]


def encode(task: Detection, shares: list[np.ndarray] | None, spread: float = 0.0) -> dict[str, tf.Tensor]:
    encoded = []
    for place, (boxes, classes) in enumerate(SCENES):
        example = {"boxes": tf.constant(boxes, tf.float32), "classes": tf.constant(classes, tf.int64)}
        spreads = tf.fill([len(boxes)], spread)
        told = {"shares": tf.constant(shares[place]), "spreads": spreads} if shares else {}
        encoded.append(task.encode(example | told))
    return {name: tf.ragged.stack([one[name] for one in encoded]).to_tensor() for name in encoded[0]}


def rows(of_first: list[float]) -> list[np.ndarray]:
    """What is said of the first box; of the others, what their label says."""
    sure = np.eye(len(CLASSES), dtype=np.float32)
    return [np.array([of_first, sure[2]], np.float32), sure[[1]]]


@pytest.mark.parametrize("name", DETECTORS)
def test_a_teacher_that_says_the_labels_changes_nothing_and_one_in_doubt_weighs_less(name: str) -> None:
    model: Any = DETECTORS[name]
    task = make_task(model, CLASSES)
    assert isinstance(task, Detection)
    tf.keras.utils.set_random_seed(3)
    network = model.build(len(CLASSES))
    for weight in network.trainable_weights:  # at first all bins of a side are alike
        weight.assign_add(tf.random.stateless_normal(weight.shape, [1, 2], stddev=0.02))
    images = tf.random.stateless_uniform([2, model.input_size, model.input_size, 3], [1, 2], 0, 255)
    outputs = answer_in_training(network, {"image": images} | encode(task, None))

    def losses(shares: list[np.ndarray] | None, spread: float = 0.0) -> dict[str, float]:
        return {key: float(value) for key, value in task.losses(outputs, encode(task, shares, spread)).items()}

    plain = losses(None)
    assert losses(rows([1, 0, 0])) == pytest.approx(plain, rel=1e-5)
    doubting, absent = losses(rows([0.3, 0, 0])), losses(rows([0, 0, 0]))
    assert plain["boxes"] > doubting["boxes"] > absent["boxes"] > 0
    assert losses(rows([0, 1, 0]))["classes"] != pytest.approx(plain["classes"], rel=1e-5)
    unsure = losses(rows([1, 0, 0]), spread=0.1)
    assert unsure["classes"] == pytest.approx(plain["classes"], rel=1e-5)
    assert (abs(unsure["boxes"] / plain["boxes"] - 1) > 1e-5) == (name in WITH_SIDES)


@pytest.mark.parametrize("classes", ["sigmoid", "focal", "softmax"])
@pytest.mark.parametrize("shares", [(0.2, 0.7, 0.1), (0.3, 0.2, 0.0)])
def test_the_loss_is_least_where_the_answer_is_what_the_teacher_says(classes: Any, shares: tuple[float, ...]) -> None:
    rule = DetectionLoss(classes=classes, focal_alpha=0.5)
    told = tf.constant([[shares]], tf.float32)
    first = [1 - sum(shares)] if rule.has_background else []
    wanted = np.maximum(np.array([*first, *shares]), 1e-6)
    logits = tf.Variable((np.log(wanted) if classes == "softmax" else np.log(wanted / (1 - wanted)))[None, None])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(class_losses(tf.cast(logits, tf.float32), tf.constant([[2]]), rule, told))
    assert np.abs(tape.gradient(loss, logits).numpy()).max() < 1e-5
