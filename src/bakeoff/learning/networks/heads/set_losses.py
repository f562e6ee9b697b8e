"""What answers of a set detector cost, of one layer: classes, boxes, the distributions of their sides."""

from typing import NamedTuple

import tensorflow as tf

from bakeoff.learning.networks.boxes import overlaps
from bakeoff.learning.networks.heads.head import Add
from bakeoff.learning.networks.heads.set_matching import Answers, Truth, as_corners
from bakeoff.learning.networks.heads.side_bins import shares_of, spread_of, widths_of
from bakeoff.learning.networks.set_detector import BINS, SetLoss
from bakeoff.learning.networks.sets.decoder import SCALE, distances

SOFTNESS = 5.0  # of distributions that are taught
IMAGES = 8.0  # of the batch for which the weights of taught sides were chosen
LEAST = 1e-16


class Asked(NamedTuple):
    """What each query is to find."""

    is_asked: tf.Tensor  # (batch, queries)
    boxes: tf.Tensor  # (batch, queries, 4) as x, y, width, height; of those that find none, any
    classes: tf.Tensor  # from 0; -1: none
    shares: tf.Tensor | None = None  # (batch, queries, k) of the classes, where a teacher says them
    spreads: tf.Tensor | None = None  # (batch, queries) how sure it is of the sides, in shares of the box

    @classmethod
    def of(cls, rows: tf.Tensor, truth: Truth) -> "Asked":
        """`rows`: which box each query finds, -1: none."""
        place = tf.maximum(rows, 0)
        classes = tf.cast(tf.gather(truth.classes, place, batch_dims=1), tf.int32) - 1
        boxes, shares = tf.gather(truth.boxes, place, batch_dims=1), None
        if truth.shares is not None:
            shares = tf.where(rows[..., None] >= 0, tf.gather(truth.shares, place, batch_dims=1), 0.0)
        spreads = None if truth.spreads is None else tf.gather(truth.spreads, place, batch_dims=1)
        return cls(rows >= 0, boxes, tf.where(rows >= 0, classes, -1), shares, spreads)

    @property
    def number(self) -> tf.Tensor:
        return tf.reduce_sum(tf.cast(self.is_asked, tf.float32))

    def sum(self, values: tf.Tensor, add: Add = tf.reduce_sum) -> tf.Tensor:
        """Where nothing is asked for, a gradient times 0 need not be 0."""
        there = 1.0 if self.shares is None else tf.reduce_sum(self.shares, axis=-1)
        return add(tf.where(self.is_asked, values, 0.0) * there)


def overlap_with(answers: Answers, asked: Asked, kind: str = "iou") -> tf.Tensor:
    return overlaps(as_corners(answers.boxes), as_corners(asked.boxes), kind=kind)


def of_classes(answers: Answers, asked: Asked, rule: SetLoss, add: Add = tf.reduce_sum) -> tf.Tensor:
    """Cross-entropy with the overlap as the score that is to be; other classes weigh by how sure they are."""
    there = tf.one_hot(asked.classes, answers.classes.shape[-1])
    wanted = (there if asked.shares is None else asked.shares) * tf.stop_gradient(
        tf.where(asked.is_asked, overlap_with(answers, asked), 0.0)
    )[..., None]
    absent = tf.stop_gradient(tf.sigmoid(answers.classes)) ** rule.gamma * (1 - there)
    if rule.classes == "matched":
        wanted, weights = wanted**rule.gamma, absent * rule.background_weight + there
    else:
        weights = absent * rule.background_weight + wanted
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(wanted, answers.classes)
    return rule.class_weight * add(weights * entropy)


def of_boxes(answers: Answers, asked: Asked, rule: SetLoss, add: Add = tf.reduce_sum) -> tf.Tensor:
    away = tf.reduce_sum(tf.abs(answers.boxes - asked.boxes), axis=-1)
    missed = 1 - overlap_with(answers, asked, "giou")
    return asked.sum(rule.box_weight * away + rule.overlap_weight * missed, add)


def true_sides(references: tf.Tensor, asked: Asked) -> tf.Tensor:
    """Return the shares of the bins that the true sides are to have: (batch, queries, 4, bins)."""
    corners, unit = as_corners(asked.boxes), references[..., 2:] / SCALE + LEAST
    low = (references[..., :2] - corners[..., :2]) / unit - SCALE / 2
    high = (corners[..., 2:] - references[..., :2]) / unit - SCALE / 2
    away = tf.concat([low, high], axis=-1)
    spreads = None
    if asked.spreads is not None:
        spreads = asked.spreads[..., None] * tf.concat([asked.boxes[..., 2:] / unit] * 2, axis=-1)
    return tf.stop_gradient(shares_of(tf.constant(distances()), away, spreads))


def of_sides(corners: tf.Tensor, sides: tf.Tensor, answers: Answers, asked: Asked, rule: SetLoss) -> tf.Tensor:
    """Cross-entropy with the two bins around each true side, times the overlap."""
    entropy = tf.nn.softmax_cross_entropy_with_logits(sides, by_side(corners))
    overlap = tf.stop_gradient(overlap_with(answers, asked))
    return rule.distribution_weight * asked.sum(tf.reduce_sum(entropy, axis=-1) * overlap)


def sides_spread(corners: tf.Tensor, references: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    """Return how sure the sides of `boxes` (batch, queries, 4), x, y, width, height, are, in shares of the box."""
    sizes = boxes[..., 2:] * SCALE / (references[..., 2:] + LEAST)
    return spread_of(widths_of(tf.constant(distances()), by_side(corners)), tf.concat([sizes] * 2, axis=-1))


class Lesson(NamedTuple):
    """What the last layer teaches the ones before."""

    corners: tf.Tensor
    sureness: tf.Tensor  # (batch, queries) the best score
    weights: tuple[tf.Tensor, tf.Tensor]  # of queries that find a box, and of the others

    @classmethod
    def of(cls, corners: tf.Tensor, classes: tf.Tensor, weights: tuple[tf.Tensor, tf.Tensor]) -> "Lesson":
        sureness = tf.reduce_max(tf.sigmoid(classes), axis=-1)
        return cls(tf.stop_gradient(corners), tf.stop_gradient(sureness), weights)


def lesson_weights(asked: Asked) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the roots of how many sides there are, of queries that find a box and of others."""
    scale = 4 * IMAGES / tf.cast(tf.shape(asked.is_asked)[0], tf.float32)
    others = tf.cast(tf.size(asked.is_asked), tf.float32) - asked.number
    return tf.sqrt(asked.number * scale), tf.sqrt(others * scale)


def of_lesson(corners: tf.Tensor, lesson: Lesson, answers: Answers, asked: Asked, rule: SetLoss) -> tf.Tensor:
    """The divergence from the last layer's distributions, where it finds a box times its overlap."""
    taught = tf.nn.softmax(by_side(lesson.corners) / SOFTNESS)
    logarithms = [tf.nn.log_softmax(by_side(one) / SOFTNESS) for one in (lesson.corners, corners)]
    apart = tf.reduce_sum(taught * (logarithms[0] - logarithms[1]), axis=[-2, -1])
    weight = tf.where(asked.is_asked, tf.stop_gradient(overlap_with(answers, asked)), lesson.sureness)
    costs = weight * SOFTNESS**2 * apart / 4
    others = tf.cast(tf.size(asked.is_asked), tf.float32) - asked.number
    means = [
        tf.reduce_sum(tf.where(which, costs, 0.0)) / tf.maximum(count, 1.0)
        for which, count in ((asked.is_asked, asked.number), (~asked.is_asked, others))
    ]
    found, other = lesson.weights
    return rule.distillation_weight * (means[0] * found + means[1] * other) / (found + other)


def by_side(corners: tf.Tensor) -> tf.Tensor:
    return tf.reshape(corners, [tf.shape(corners)[0], -1, 4, BINS])
