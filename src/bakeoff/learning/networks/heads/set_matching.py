"""Which query is to find which box: of all pairs the cheapest set, by the Hungarian method."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bakeoff.learning.networks.boxes import overlaps
from bakeoff.learning.networks.set_detector import SetMatching

ALPHA, GAMMA = 0.25, 2.0  # of the focal cost of a class
LEAST = 1e-8


class Answers(NamedTuple):
    """Of a layer: boxes (batch, queries, 4) as x, y, width, height, and logits of classes."""

    boxes: tf.Tensor
    classes: tf.Tensor


class Truth(NamedTuple):
    boxes: tf.Tensor  # (batch, boxes, 4) as x, y, width, height
    classes: tf.Tensor  # ids 1..k; 0: padding, which stands behind the boxes
    shares: tf.Tensor | None = None  # (batch, boxes, k) of the classes, where a teacher says them
    spreads: tf.Tensor | None = None  # (batch, boxes) how sure it is of the sides, in shares of the box


def as_corners(boxes: tf.Tensor) -> tf.Tensor:
    """Return xmin, ymin, xmax, ymax; a width or height below 0 is 0."""
    half = tf.maximum(boxes[..., 2:], 0.0) / 2
    return tf.concat([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)


def match(layers: list[Answers], truth: Truth, rule: SetMatching) -> tuple[tf.Tensor, tf.Tensor]:
    """Return which box each query is to find, -1: none, for every layer (layers, batch, queries), and for all of them
    together (batch, queries): the box that most layers chose, of as many the first.
    """
    costs = tf.stack([_cost(layer, truth, rule) for layer in layers])
    counts = tf.math.count_nonzero(truth.classes > 0, axis=1, dtype=tf.int32)
    rows, union = tf.numpy_function(choose_pairs, [costs, counts], [tf.int32, tf.int32], stateful=False)
    shape = [None, layers[0].boxes.shape[1]]
    return tf.ensure_shape(rows, [len(layers), *shape]), tf.ensure_shape(union, shape)


def choose_pairs(costs: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`costs` (layers, batch, queries, boxes), of which each image has the first `counts`."""
    from scipy.optimize import linear_sum_assignment  # takes a fifth of a second to load

    rows = np.full(costs.shape[:3], -1, np.int32)
    union = np.full(costs.shape[1:3], -1, np.int32)
    for image, count in enumerate(counts):
        votes = np.zeros((costs.shape[2], max(count, 1)), np.int32)
        for layer, cost in enumerate(np.nan_to_num(costs[:, image, :, :count], nan=1.0)):
            queries, boxes = linear_sum_assignment(cost)
            rows[layer, image, queries] = boxes
            votes[queries, boxes] += 1
        is_chosen = votes.any(axis=1)
        union[image, is_chosen] = votes.argmax(axis=1)[is_chosen]
    return rows, union


def _cost(answers: Answers, truth: Truth, rule: SetMatching) -> tf.Tensor:
    scores = tf.gather(tf.sigmoid(answers.classes), tf.maximum(truth.classes - 1, 0), axis=2, batch_dims=1)
    boxes, there = answers.boxes[:, :, None], truth.boxes[:, None]
    if rule.overlap_power is not None:
        return -scores * overlaps(as_corners(boxes), as_corners(there)) ** rule.overlap_power
    absent = (1 - ALPHA) * scores**GAMMA * -tf.math.log(1 - scores + LEAST)
    present = ALPHA * (1 - scores) ** GAMMA * -tf.math.log(scores + LEAST)
    far = tf.reduce_sum(tf.abs(boxes - there), axis=-1)
    overlap = overlaps(as_corners(boxes), as_corners(there), kind="giou")
    return rule.box_weight * far + rule.class_weight * (present - absent) - rule.overlap_weight * overlap
