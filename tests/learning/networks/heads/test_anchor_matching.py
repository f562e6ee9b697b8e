"""Matching, losses and hard examples, counted again one by one."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.detector_settings import DetectionLoss, HardExamples
from bakeoff.learning.networks.heads.anchor_matching import BACKGROUND, IGNORED, hard_examples, match, smooth_l1
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.detection import Detection

OVERLAP = [  # anchors x boxes
    [0.7, 0.1],
    [0.5, 0.4],
    [0.49, 0.3],
    [0.2, 0.45],
    [0.0, 0.0],
]


def matched(overlap: list[list[float]], *rule: float | bool | None) -> list[int]:
    table = tf.constant(overlap, tf.float32)
    direct = match(table, *rule).numpy().tolist()
    assert compile_graph(lambda x: match(x, *rule))(table).numpy().tolist() == direct
    return direct


def test_anchor_stands_for_the_box_it_overlaps_most_from_the_threshold_on() -> None:
    assert matched(OVERLAP, 0.5, None, False) == [0, 0, BACKGROUND, BACKGROUND, BACKGROUND]


def test_box_below_the_threshold_gets_its_best_anchor_if_every_box_is_matched() -> None:
    assert matched(OVERLAP, 0.5, None, True) == [0, 0, BACKGROUND, 1, BACKGROUND]


def test_anchors_between_the_thresholds_are_asked_nothing() -> None:
    assert matched(OVERLAP, 0.5, 0.45, False) == [0, 0, IGNORED, IGNORED, BACKGROUND]
    assert matched(OVERLAP, 0.5, 0.45, True) == [0, 0, IGNORED, 1, BACKGROUND]


def test_equal_thresholds_leave_no_gap() -> None:
    assert matched(OVERLAP, 0.5, 0.5, False) == matched(OVERLAP, 0.5, None, False)


def test_without_boxes_every_anchor_is_background() -> None:
    assert match(tf.zeros([3, 0]), 0.5, 0.4, True).numpy().tolist() == [BACKGROUND] * 3


@pytest.mark.parametrize("seed", range(1, 5))
def test_matches_equal_those_of_a_loop_where_no_two_boxes_want_the_same_anchor(seed: int) -> None:
    draw = np.random.default_rng(seed)
    overlap = draw.uniform(0.01, 0.7, (40, 4)).astype(np.float32)
    expected = []
    for row in overlap:
        most = row.max()
        expected.append(int(row.argmax()) if most >= 0.6 else IGNORED if most >= 0.3 else BACKGROUND)
    best = overlap.argmax(axis=0)
    assert len(set(best)) == 4
    for box, anchor in enumerate(best):
        expected[anchor] = box
    assert matched(overlap.tolist(), 0.6, 0.3, True) == expected


WANTED_BY_TWO = [  # anchors x boxes: both boxes want the first anchor, the second more
    [0.3, 0.4],
    [0.2, 0.1],
    [0.0, 0.35],
]


def test_of_two_boxes_with_the_same_best_anchor_the_first_has_it_and_the_other_none_as_in_the_api() -> None:
    matches = match(tf.constant(WANTED_BY_TWO), 0.5, next_best=False)
    assert matches.numpy().tolist() == [0, BACKGROUND, BACKGROUND]


def test_with_next_best_the_closer_box_has_the_anchor_and_the_other_its_next_best() -> None:
    matches = match(tf.constant(WANTED_BY_TWO), 0.5, next_best=True)
    assert matches.numpy().tolist() == [1, 0, BACKGROUND]


TILES = Ssd(input_size=64, anchors=Anchors(scale=1.0, aspect_ratios=(1.0,)))  # 84 anchors that tile the image
CLASSES = ("ant", "bee", "cow")


def detection(loss: DetectionLoss, mining: HardExamples | None = None) -> Detection:
    return Detection(replace(TILES, loss=loss, mining=mining), CLASSES)


def drawn(seed: int, numbers: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    draw = np.random.default_rng(seed)
    truth = np.where(draw.random((2, 84)) < 0.1, draw.integers(1, 4, (2, 84)), 0)
    truth[draw.random((2, 84)) < 0.05] = -1  # asked nothing
    outputs = {
        "classes": draw.normal(-1, 2, (2, 84, numbers)).astype(np.float32),
        "boxes": draw.normal(0, 2, (2, 84, 4)).astype(np.float32),
    }
    return outputs, {"classes": truth, "boxes": draw.normal(0, 2, (2, 84, 4)).astype(np.float32)}


def given(task: Detection, outputs: dict[str, np.ndarray], targets: dict[str, np.ndarray]) -> dict[str, float]:
    tensors = [{name: tf.constant(value) for name, value in values.items()} for values in (outputs, targets)]
    direct = {name: float(value) for name, value in task.losses(*tensors).items()}
    in_graph = {name: float(value) for name, value in compile_graph(task.losses)(*tensors).items()}
    assert in_graph == pytest.approx(direct, rel=1e-5)
    return direct


def class_loss_by_hand(logits: np.ndarray, truth: int, rule: DetectionLoss) -> float:
    """Of one anchor."""
    numbers = [float(logit) for logit in logits]
    if truth < 0:
        return 0.0
    weight = 1.0 if truth else rule.background_weight
    if rule.classes == "softmax":
        return -weight * math.log(math.exp(numbers[truth]) / sum(math.exp(number) for number in numbers))
    total = 0.0
    for label, number in enumerate(numbers, start=0 if rule.background_logit else 1):
        answer = 1 / (1 + math.exp(-number))
        # The background's number is never to be high, unless it is a class like the others.
        is_true = label == truth and (truth > 0 or rule.background_is_class)
        answer = answer if is_true else 1 - answer
        alpha, gamma = (rule.focal_alpha, rule.focal_gamma) if rule.classes == "sigmoid_focal" else (None, 0.0)
        share = 1.0 if alpha is None else alpha if is_true else 1 - alpha
        total -= share * (1 - answer) ** gamma * math.log(answer)
    return weight * total


def box_loss_by_hand(off: np.ndarray, delta: float) -> float:
    """Of one anchor: Huber's loss."""
    return sum(x**2 / 2 if abs(x) <= delta else delta * (abs(x) - delta / 2) for x in map(float, off))


@pytest.mark.parametrize(
    "rule",
    [
        DetectionLoss(classes="softmax"),
        DetectionLoss(classes="softmax", background_weight=0.25, class_weight=3.0, smooth_l1_delta=0.5),
        DetectionLoss(classes="sigmoid", divide_boxes_by_code_size=True, box_weight=2.0),
        DetectionLoss(classes="sigmoid_focal", background_weight=0.5, divide_by_matches=False),
        DetectionLoss(divide_by_matches=False, divide_boxes_by_code_size=True, smooth_l1_delta=3.0),
        DetectionLoss(classes="sigmoid", background_logit=True),
        DetectionLoss(classes="sigmoid_focal", background_logit=True, background_weight=0.5),
        DetectionLoss(classes="sigmoid", background_logit=True, background_is_class=True),
        DetectionLoss(classes="sigmoid_focal", background_logit=True, background_is_class=True),
    ],
)
def test_losses_equal_those_counted_one_by_one(rule: DetectionLoss) -> None:
    outputs, targets = drawn(1, rule.outputs(3))
    classes = boxes = 0.0
    for row in range(2):
        for anchor, truth in enumerate(targets["classes"][row]):
            classes += class_loss_by_hand(outputs["classes"][row, anchor], truth, rule)
            if truth > 0:
                off = outputs["boxes"][row, anchor] - targets["boxes"][row, anchor]
                boxes += box_loss_by_hand(off, rule.smooth_l1_delta)
    matches = (targets["classes"] > 0).sum() if rule.divide_by_matches else 1
    code = 4 if rule.divide_boxes_by_code_size else 1
    expected = {
        "classes": rule.class_weight * classes / matches,
        "boxes": rule.box_weight * boxes / matches / code,
    }
    assert given(detection(rule), outputs, targets) == pytest.approx(expected, rel=1e-4)


def test_smooth_l1_bends_at_delta_into_a_line_of_that_slope() -> None:
    values = smooth_l1(tf.constant([-3.0, -0.5, 0.0, 0.5, 2.0, 3.0]), 2.0).numpy()
    np.testing.assert_allclose(values, [4.0, 0.125, 0.0, 0.125, 2.0, 4.0])


def test_ignored_anchors_have_no_loss_and_no_gradient() -> None:
    outputs, targets = drawn(2, 4)
    logits = tf.Variable(outputs["classes"])
    with tf.GradientTape() as tape:
        parts = detection(DetectionLoss(classes="softmax")).losses(
            {"classes": logits, "boxes": tf.constant(outputs["boxes"])},
            {name: tf.constant(value) for name, value in targets.items()},
        )
        loss = tf.add_n(list(parts.values()))
    moved = np.abs(tape.gradient(loss, logits)).max(axis=-1) > 0
    np.testing.assert_array_equal(moved, targets["classes"] >= 0)


def test_anchors_between_the_thresholds_are_encoded_as_asked_nothing() -> None:
    task = detection(DetectionLoss(matched_from=0.6, background_below=0.4))
    box = tf.constant([[0.0, 0.0, 0.5, 0.25]])  # two quarters of the image's side each half of it, a half twice it
    targets = task.encode({"boxes": box, "classes": tf.constant([2], tf.int64)})
    asked = targets["classes"].numpy()
    assert set(np.flatnonzero(asked == -1)) | set(np.flatnonzero(asked == 2)) == {64, 68, 80}
    assert (asked == 2).sum() == 1 and (asked == 0).sum() == 81


# Mining.

APART = np.array([[i / 10, 0.0, i / 10 + 0.09, 0.1] for i in range(8)], np.float32)


def chosen(losses: list[float], truth: list[int], rule: HardExamples, boxes: np.ndarray = APART) -> list[int]:
    tensors = [tf.constant([values]) for values in (losses, boxes[: len(losses)].tolist())]
    mask = hard_examples(*tensors, tf.constant([truth], tf.int64), rule).numpy()
    assert set(mask.ravel()) <= {0.0, 1.0}
    return np.flatnonzero(mask[0]).tolist()


ALL = HardExamples(max_examples=0, max_overlap=1.0, max_negatives_per_positive=0)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (ALL, [0, 1, 2, 3, 4, 5]),
        (replace(ALL, max_examples=3), [1, 3, 4]),  # the highest losses
        (replace(ALL, max_negatives_per_positive=1), [0, 1, 2, 3]),  # positives 0 and 3, two of the hardest others
        (replace(ALL, max_negatives_per_positive=1, max_examples=3), [1, 3]),  # the third is asked nothing
        (replace(ALL, max_negatives_per_positive=2, max_examples=4), [1, 2, 3]),
        (replace(ALL, max_negatives_per_positive=1, min_negatives_per_image=3), [0, 1, 2, 3, 5]),
    ],
)
def test_hardest_anchors_are_chosen(rule: HardExamples, expected: list[int]) -> None:
    losses = [0.1, 0.9, 0.5, 0.8, 0.7, 0.4]
    truth = [2, 0, 0, 1, -1, 0]
    assert chosen(losses, truth, rule) == expected


def test_image_without_boxes_keeps_as_many_negatives_as_asked_for() -> None:
    losses, truth = [0.1, 0.9, 0.5, 0.8], [0, 0, 0, 0]
    assert chosen(losses, truth, replace(ALL, max_negatives_per_positive=3)) == []
    assert chosen(losses, truth, replace(ALL, max_negatives_per_positive=3, min_negatives_per_image=2)) == [1, 3]


def test_of_boxes_that_overlap_only_the_hardest_is_chosen() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 0, 0.2, 0.2]], np.float32)
    losses, truth = [0.5, 0.6, 0.1], [0, 1, 0]
    assert chosen(losses, truth, replace(ALL, max_overlap=0.8), boxes) == [1, 2]
    assert chosen(losses, truth, replace(ALL, max_overlap=0.95), boxes) == [0, 1, 2]


@pytest.mark.parametrize("ranked_by", ["classes", "boxes", "both"])
def test_mined_losses_are_the_sums_over_the_chosen_anchors(ranked_by: Any) -> None:
    rule = DetectionLoss(classes="softmax", class_weight=2.0, box_weight=0.5)
    mining = HardExamples(max_examples=20, max_overlap=1.0, ranked_by=ranked_by, max_negatives_per_positive=2)
    outputs, targets = drawn(3, 4)
    totals = {"classes": 0.0, "boxes": 0.0}
    for row in range(2):
        truth = targets["classes"][row]
        classes = [class_loss_by_hand(outputs["classes"][row, i], truth[i], rule) for i in range(84)]
        off = outputs["boxes"][row] - targets["boxes"][row]
        boxes = [box_loss_by_hand(off[i], 1.0) if truth[i] > 0 else 0.0 for i in range(84)]
        rank = {
            "classes": classes,
            "boxes": boxes,
            "both": [2 * c + b / 2 for c, b in zip(classes, boxes, strict=True)],
        }
        hardest = sorted(range(84), key=lambda i: -rank[ranked_by][i])[:20]
        allowed = 2 * sum(truth[i] > 0 for i in hardest)
        for i in hardest:
            if truth[i] > 0 or (truth[i] == 0 and allowed > 0):
                allowed -= truth[i] == 0
                totals["classes"] += classes[i]
                totals["boxes"] += boxes[i]
    matches = (targets["classes"] > 0).sum()
    expected = {"classes": 2 * totals["classes"] / matches, "boxes": totals["boxes"] / 2 / matches}
    assert given(detection(rule, mining), outputs, targets) == pytest.approx(expected, rel=1e-4)


# Scores.


def test_softmax_scores_leave_the_background_out() -> None:
    logits = np.full((1, 84, 4), 0.0, np.float32)
    logits[..., 0] = 9.0
    logits[0, 80] = np.log([0.1, 0.2, 0.6, 0.1])
    predictions = detection(DetectionLoss(classes="softmax")).predict(
        {"classes": tf.constant(logits), "boxes": tf.zeros([1, 84, 4])}
    )
    count = int(predictions["count"][0])
    assert predictions["classes"][0, :count].numpy().tolist() == [2, 1, 3]
    np.testing.assert_allclose(predictions["scores"][0, :count], [0.6, 0.2, 0.1], rtol=1e-5)


def test_a_class_has_no_more_detections_than_allowed() -> None:
    logits = np.full((1, 84, 3), -9.0, np.float32)
    logits[0, :20, 0], logits[0, 30:32, 2] = 3.0, 2.0
    settings = replace(TILES, suppression=replace(TILES.suppression, max_detections_per_class=4))
    predictions = Detection(settings, CLASSES).predict({"classes": tf.constant(logits), "boxes": tf.zeros([1, 84, 4])})
    assert predictions["classes"][0, : int(predictions["count"][0])].numpy().tolist() == [1, 1, 1, 1, 3, 3]
