"""Assignment, losses and overlaps of the detector without anchors, against what papers write, one number at a time."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.boxes import overlaps
from bakeoff.learning.networks.detector_settings import grid_points
from bakeoff.learning.networks.heads.point_head import PointHead
from bakeoff.learning.networks.point_detector import Assignment, PointDetector, PointLoss

SMALL = PointDetector(input_size=64, bins=8, assignment=Assignment(points=3))
CLASSES, POINTS = 3, 84


def answers(seed: int, settings: PointDetector = SMALL, batch: int = 2) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {
        "classes": draw.normal(-1, 2, (batch, POINTS, CLASSES)).astype(np.float32),
        "boxes": draw.normal(0, 1, (batch, POINTS, 4 * settings.bins)).astype(np.float32),
    }


def truth_of(rows: list[list[tuple[list[float], int]]]) -> dict[str, np.ndarray]:
    most = max(len(row) for row in rows) + 1
    boxes, classes = np.zeros((len(rows), most, 4), np.float32), np.zeros((len(rows), most), np.int64)
    for place, row in enumerate(rows):
        for number, (box, label) in enumerate(row):
            boxes[place, number], classes[place, number] = box, label
    return {"boxes": boxes, "classes": classes}


TRUTH = truth_of([[([0.1, 0.1, 0.6, 0.5], 1), ([0.2, 0.3, 0.9, 0.9], 3)], [([0.51, 0.51, 0.53, 0.53], 2)]])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def iou(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    both = sides.prod()
    return float(both / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - both))


def assigned_by_hand(
    outputs: dict[str, np.ndarray], predicted: np.ndarray, truth: dict[str, np.ndarray], settings: PointDetector
) -> dict[tuple[int, int], tuple[int, float]]:
    """(image, point) -> (row of the box, what its class is to score), as section 3.2 of TOOD has it."""
    places, steps = grid_points(settings.input_size, settings.strides)
    rule, result = settings.assignment, {}
    for image, classes in enumerate(truth["classes"]):
        wanted: dict[int, dict[int, float]] = {}  # box -> point -> t
        overlap: dict[tuple[int, int], float] = {}
        for box, label in enumerate(classes):
            if not label:
                continue
            corners = truth["boxes"][image, box]
            centre, reach = (corners[:2] + corners[2:]) / 2, np.maximum(corners[2:] - corners[:2], steps.min()) / 2
            metric = {}
            for point in np.flatnonzero((np.abs(places - centre) <= reach).all(axis=1)):
                overlap[point, box] = iou(predicted[image, point], corners)
                score = sigmoid(outputs["classes"][image, point, label - 1])
                metric[point] = score**rule.score_power * overlap[point, box] ** rule.overlap_power
            best = sorted(metric, key=lambda point: -metric[point])[: rule.points]
            wanted[box] = {point: metric[point] for point in best}
        for point in {point for points in wanted.values() for point in points}:
            rivals = [box for box, points in wanted.items() if point in points]
            keeper = max(rivals, key=lambda box: overlap[point, box])
            for box in rivals:
                if box != keeper:
                    del wanted[box][point]
        for box, points in wanted.items():
            for point, metric_of_point in points.items():
                most = max(overlap[other, box] for other in points)
                result[image, point] = (box, metric_of_point / max(points.values()) * most)
    return result


def tensors(values: dict[str, np.ndarray]) -> dict[str, tf.Tensor]:
    return {name: tf.constant(value) for name, value in values.items()}


@pytest.mark.parametrize("rule", [Assignment(points=3), Assignment(points=12, score_power=0.5, overlap_power=2.0)])
def test_points_are_assigned_as_counted_one_by_one(rule: Assignment) -> None:
    settings = PointDetector(input_size=64, bins=8, assignment=rule)
    outputs, head = answers(1, settings), PointHead(settings)
    predicted = head.boxes(tensors(outputs)).numpy()
    asked = head.assign(tf.constant(outputs["classes"]), tf.constant(predicted), tensors(TRUTH))
    expected = assigned_by_hand(outputs, predicted, TRUTH, settings)
    given = {(int(image), int(point)) for image, point in np.argwhere(asked.classes.numpy() > 0)}
    assert given == set(expected) and len(given) >= 5
    for (image, point), (box, score) in expected.items():
        assert int(asked.classes[image, point]) == TRUTH["classes"][image, box]
        np.testing.assert_array_equal(asked.boxes[image, point], TRUTH["boxes"][image, box])
        assert float(asked.scores[image, point]) == pytest.approx(score, rel=1e-3)


def test_a_tiny_box_that_no_point_is_in_is_found_by_a_point_beside_it() -> None:
    """Of 1.3 pixels, between points that are eight apart."""
    head, outputs = PointHead(SMALL), tensors(answers(2))
    asked = head.assign(outputs["classes"], head.boxes(outputs), tensors(TRUTH))
    [point] = np.flatnonzero(asked.classes[1].numpy() == 2)
    assert np.abs(head.anchors[point].reshape(2, 2).mean(axis=0) - 0.52).max() <= 4 / 64 + 1e-6


@pytest.mark.parametrize(
    "rule", [PointLoss(), PointLoss(0.0), PointLoss(0.5, "giou", 2.0, 0.7, 0.2)]
)  # fmt: skip
def test_losses_equal_those_counted_one_by_one(rule: PointLoss) -> None:
    settings = PointDetector(input_size=64, bins=8, assignment=Assignment(points=3), loss=rule)
    outputs, head = answers(3, settings), PointHead(settings)
    places, steps = grid_points(settings.input_size, settings.strides)
    predicted = head.boxes(tensors(outputs)).numpy()
    expected = assigned_by_hand(outputs, predicted, TRUTH, settings)
    classes = boxes = 0.0
    for image in range(2):
        for point in range(POINTS):
            box, wanted = expected.get((image, point), (0, 0.0))
            label = TRUTH["classes"][image, box] if wanted else 0
            for number in range(CLASSES):
                goal = wanted if number + 1 == label else 0.0
                score = float(sigmoid(outputs["classes"][image, point, number]))
                entropy = -goal * math.log(score) - (1 - goal) * math.log(1 - score)
                classes += abs(goal - score) ** rule.focal_gamma * entropy
            if not label:
                continue
            corners = TRUTH["boxes"][image, box]
            overlap = float(overlaps(tf.constant(predicted[image, point]), tf.constant(corners), rule.overlap))
            away = np.concatenate([places[point] - corners[:2], corners[2:] - places[point]])
            away = away[[1, 0, 3, 2]] / steps[point]
            logits = outputs["boxes"][image, point].reshape(4, 8).astype(np.float64)
            logged = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
            sides = 0.0
            for side, distance in enumerate(np.clip(away, 0, 7)):
                left = min(int(distance), 6)  # equation 6 of GFL
                sides -= (left + 1 - distance) * logged[side, left] + (distance - left) * logged[side, left + 1]
            boxes += wanted * (rule.overlap_weight * (1 - overlap) + rule.distribution_weight * sides / 4)
    total = sum(wanted for _, wanted in expected.values())
    parts, weight = head.losses(tensors(outputs), tensors(TRUTH))
    assert float(weight) == pytest.approx(total, rel=1e-3)
    assert float(parts["classes"]) == pytest.approx(rule.class_weight * classes / max(total, 1), rel=1e-3)
    assert float(parts["boxes"]) == pytest.approx(boxes / max(total, 1), rel=1e-3)


def test_no_gradient_goes_through_what_is_asked() -> None:
    """A score must not fall to make a worse box enough."""
    head, outputs = PointHead(SMALL), tensors(answers(4))
    with tf.GradientTape() as tape:
        tape.watch(outputs)
        asked = head.assign(outputs["classes"], head.boxes(outputs), tensors(TRUTH))
        total = tf.reduce_sum(asked.scores)
    assert [tape.gradient(total, list(outputs.values()))] == [[None, None]]


def test_overlaps_are_those_of_the_papers() -> None:
    """Two boxes of 2 x 2 and 2 x 4 that share 1 x 2: an IoU of 2 / 10, in a box of 3 x 4."""
    a, b = tf.constant([0.0, 0.0, 2.0, 2.0]), tf.constant([1.0, 0.0, 3.0, 4.0])
    shape = 4 / math.pi**2 * (math.atan(2 / 4) - math.atan(1)) ** 2
    assert float(overlaps(a, b)) == pytest.approx(0.2)
    assert float(overlaps(a, b, "giou")) == pytest.approx(0.2 - (12 - 10) / 12)
    weight = shape / (1 - 0.2 + shape)
    assert float(overlaps(a, b, "ciou")) == pytest.approx(0.2 - (1 + 1) / (9 + 16) - weight * shape, rel=1e-5)
    assert float(overlaps(a, a, "ciou")) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["giou", "ciou"])
def test_gradient_is_finite_for_boxes_without_an_area(kind: str) -> None:
    predicted = tf.Variable([[0.5, 0.5, 0.5, 0.5], [0.2, 0.2, 0.2, 0.6]])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(overlaps(predicted, tf.constant([[0.1, 0.1, 0.9, 0.9], [0.2, 0.2, 0.2, 0.6]]), kind))
    assert np.isfinite(tape.gradient(total, predicted)).all()
