"""Looks at validation: broken off when unwanted, guessed at before the first, judged by a number that exists."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.networks.detector_settings import DetectionLoss, HardExamples
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import compile_answer
from bakeoff.learning.training.setup import Validation, choose_headline

NETWORK = Cnn(input_size=16, width=0.25)
CLASSES = ("a", "b", "c")
TASK = Classification(NETWORK, CLASSES)


class Asked:
    """Three batches of images, of which it is written down how many were asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __iter__(self) -> Any:
        for size in (4, 4, 2):
            self.sizes.append(size)
            yield {"image": tf.zeros([size, 16, 16, 3]), "label": tf.ones([size], tf.int64)}


@pytest.fixture(scope="module")
def network() -> keras.Model:
    return NETWORK.build(len(CLASSES))


def test_a_look_that_becomes_unwanted_is_broken_off_after_the_batch(network: keras.Model) -> None:
    batches, answers = Asked(), iter([False, True, True])
    look = Validation(TASK, compile_answer(network, TASK), batches, examples=10, is_unwanted=lambda: next(answers))
    assert look() is None and batches.sizes == [4, 4]


def test_a_look_that_is_wanted_counts_every_example(network: keras.Model) -> None:
    result = Validation(TASK, compile_answer(network, TASK), Asked(), examples=10)()
    given = int(np.argmax(network(tf.zeros([1, 16, 16, 3]), training=False)["classes"]))
    assert result is not None and result["accuracy"] == float(given == 0)


def test_a_rehearsal_goes_through_a_few_batches_only(network: keras.Model) -> None:
    batches = Asked()
    assert Validation(TASK, compile_answer(network, TASK), batches, examples=1000).seconds() > 0
    assert len(batches.sizes) == 3


def test_weights_are_choose_headline_the_headline_or_by_the_number_that_was_chosen() -> None:
    task = Classification(NETWORK, CLASSES, multi_label=True)
    assert choose_headline(task, None) == "mean_average_precision" and choose_headline(task, "f1") == "f1"
    assert choose_headline(task, "loss") == "loss"  # of which less is better


def test_a_number_that_no_look_gives_is_refused_with_the_nearest() -> None:
    metrics = "best_f1, f1, loss, mean_auc, mean_average_precision, precision, recall"
    message = rf"^train\.best_by: .*'f2'.*'f1'\?.*\b{metrics}$"
    with pytest.raises(ConfigError, match=message):
        choose_headline(Classification(NETWORK, CLASSES, multi_label=True), "f2")


SCENES = [  # of seven images: their boxes, and their classes
    ([[0.0, 0.0, 0.5, 0.25], [0.5, 0.5, 1.0, 1.0]], [1, 3]),
    ([[0.1, 0.2, 0.3, 0.4]], [2]),
    ([], []),
    ([[0.0, 0.5, 0.25, 1.0], [0.25, 0.0, 0.5, 0.5], [0.6, 0.6, 0.9, 0.9]], [1, 1, 2]),
    ([[0.2, 0.2, 0.8, 0.8]], [3]),
    ([], []),
    ([[0.0, 0.0, 1.0, 1.0], [0.7, 0.1, 0.9, 0.3]], [2, 3]),
]
IMAGES = np.random.default_rng(3).uniform(0, 255, (7, 64, 64, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def detector() -> keras.Model:
    return Ssd(input_size=64).build(3)


def scenes_in_batches(size: int) -> list[dict[str, tf.Tensor]]:
    """The last one is short; boxes are padded with class 0."""
    batches = []
    for start in range(0, len(SCENES), size):
        part = SCENES[start : start + size]
        most = max(1, *(len(classes) for _, classes in part))
        padded = [boxes + [[0.0] * 4] * (most - len(boxes)) for boxes, _ in part]
        of_class = [classes + [0] * (most - len(classes)) for _, classes in part]
        sides = tf.fill([len(part)], 64)
        batches.append({
            "image": tf.constant(IMAGES[start : start + size]), "boxes": tf.constant(padded, tf.float32),
            "classes": tf.constant(of_class, tf.int64), "height": sides, "width": sides,
        })  # fmt: skip
    return batches


def look_at(task: Detection, network: keras.Model, size: int) -> dict[str, Any]:
    answer = compile_answer(network, task, with_losses=True)
    result = Validation(task, answer, scenes_in_batches(size), examples=len(SCENES))()
    assert result is not None
    return result


def targets_of(task: Detection, scenes: list[Any]) -> dict[str, tf.Tensor]:
    encoded = [
        task.encode({"boxes": tf.reshape(tf.constant(boxes, tf.float32), [-1, 4]),
                     "classes": tf.constant(classes, tf.int64)})
        for boxes, classes in scenes
    ]  # fmt: skip
    return {name: tf.stack([one[name] for one in encoded]) for name in encoded[0]}


def losses_by_hand(outputs: Any, targets: Any, rule: DetectionLoss) -> tuple[float, float, int]:
    """Of classes and of boxes, not divided yet, and what they are divided by; focal loss as its paper writes it."""
    logits, truth = outputs["classes"].astype(float), targets["classes"].numpy()
    probability = 1 / (1 + np.exp(-logits))
    is_it = truth[..., None] == np.arange(1, 1 + logits.shape[-1])
    answer = np.where(is_it, probability, 1 - probability)
    alpha = np.where(is_it, rule.focal_alpha, 1 - rule.focal_alpha)
    of_classes = -(alpha * (1 - answer) ** rule.focal_gamma * np.log(answer)).sum()
    off = np.abs(outputs["boxes"] - targets["boxes"].numpy())[truth > 0].astype(float)
    delta = rule.smooth_l1_delta
    of_boxes = np.where(off < delta, off**2 / 2, delta * (off - delta / 2)).sum()
    return rule.class_weight * of_classes, rule.box_weight * of_boxes, int((truth > 0).sum())


@pytest.mark.parametrize("size", [1, 3, 4, 7])  # the last batch has 1, 1, 3 and 7 images
def test_the_loss_of_a_detector_is_counted_by_hand_however_long_the_last_batch_is(
    detector: keras.Model, size: int
) -> None:
    rule = DetectionLoss(class_weight=2.0, box_weight=0.5)
    task = Detection(Ssd(input_size=64, loss=rule), CLASSES)
    outputs = {name: value.numpy() for name, value in detector(IMAGES, training=False).items()}
    classes, boxes, matches = losses_by_hand(outputs, targets_of(task, SCENES), rule)
    result = look_at(task, detector, size)
    assert matches > 9 and classes > 0 and boxes > 0
    assert result["loss_classes"] == pytest.approx(classes / matches, rel=1e-4)
    assert result["loss_boxes"] == pytest.approx(boxes / matches, rel=1e-4)
    assert result["loss"] == pytest.approx((classes + boxes) / matches, rel=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss": DetectionLoss(divide_boxes_by_code_size=True), "mining": HardExamples(max_examples=20)},
        {"loss": DetectionLoss(divide_by_matches=False)},
    ],
    ids=["focal", "mined", "not divided"],
)
def test_a_batch_counts_as_much_as_what_training_divides_it_by(detector: keras.Model, settings: dict[str, Any]) -> None:
    """The same losses, from what a training step would say of each batch."""
    task = Detection(Ssd(input_size=64, **settings), CLASSES)
    outputs = {name: value.numpy() for name, value in detector(IMAGES, training=False).items()}
    total, weight = 0.0, 0.0
    for start in (0, 3, 6):
        targets = targets_of(task, SCENES[start : start + 3])
        part = {name: tf.constant(value[start : start + 3]) for name, value in outputs.items()}
        printed = float(tf.add_n(list(task.losses(part, targets).values())))
        divisor = float(np.count_nonzero(targets["classes"].numpy() > 0))
        is_divided = task.model.loss.divide_by_matches
        total += printed * divisor if is_divided else printed
        weight += divisor if is_divided else len(part["boxes"])
    assert look_at(task, detector, 3)["loss"] == pytest.approx(total / weight, rel=1e-4)


def test_the_best_weights_of_a_detector_may_be_those_of_the_least_loss() -> None:
    task = Detection(Ssd(input_size=64), CLASSES)
    assert choose_headline(task, "loss") == "loss" and choose_headline(task, "loss_boxes") == "loss_boxes"
    with pytest.raises(ConfigError, match=r"^train\.best_by: .*'los'.*'loss'\?"):
        choose_headline(task, "los")
