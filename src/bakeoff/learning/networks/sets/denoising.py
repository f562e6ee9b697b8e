"""Queries that start from true boxes with noise: in groups, each of which has every box twice.

The first half of a group is to find its boxes, the second, whose noise is twice as large, is to find nothing. Groups
do not see each other, and the other queries do not see them (DN-DETR, arXiv:2203.01305; DINO, arXiv:2203.03605).
"""

from typing import TYPE_CHECKING, NamedTuple

import keras
import tensorflow as tf

if TYPE_CHECKING:
    from bakeoff.learning.networks.set_detector import Denoising

LEAST = 1e-5


class Groups(NamedTuple):
    """How many there are, and which boxes they have; all images of a batch have as many."""

    number: tf.Tensor
    most: tf.Tensor  # boxes of an image, at least 1
    is_real: tf.Tensor  # (batch, most), the rest is padding

    def find(self) -> tf.Tensor:
        """Return which box each query is to find, -1: none (batch, queries)."""
        rows = tf.where(self.is_real, tf.range(self.most), -1)
        return tf.tile(tf.concat([rows, tf.fill(tf.shape(rows), -1)], axis=1), [1, self.number])

    def hidden(self, others: int) -> tf.Tensor:
        """Return which row, of these queries and `others` behind them, does not see which one."""
        group = tf.concat([tf.range(self.number * 2 * self.most) // (2 * self.most), tf.fill([others], -1)], axis=0)
        return (group[:, None] != group) & (group >= 0)


class Noise(NamedTuple):
    """Numbers that are drawn, 0..1, for every query; of boxes four each."""

    takes: tf.Tensor  # whether it gets another class
    classes: tf.Tensor  # which one
    signs: tf.Tensor
    parts: tf.Tensor


def groups_of(classes: tf.Tensor, queries: int) -> Groups:
    """`classes` (batch, boxes): ids 1..k, 0 for padding, which stands behind the boxes."""
    counts = tf.math.count_nonzero(classes > 0, axis=1, dtype=tf.int32)
    most = tf.maximum(tf.reduce_max(counts), 1)
    return Groups(tf.maximum(queries // most, 1), most, tf.range(most) < counts[:, None])


def draw(groups: Groups, seeds: keras.random.SeedGenerator) -> Noise:
    shape = [tf.shape(groups.is_real)[0], groups.number * 2 * groups.most]
    shapes = (shape, shape, [*shape, 4], [*shape, 4])
    return Noise(*(tf.random.stateless_uniform(one, tf.cast(seeds.next(), tf.int32)) for one in shapes))


def disturb(
    groups: Groups, boxes: tf.Tensor, classes: tf.Tensor, noise: Noise, rule: "Denoising", num_classes: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return where the queries start: classes from 0, `num_classes` for padding, and x, y, width, height.

    `boxes` (batch, boxes, 4) are x, y, width, height.
    """
    times = 2 * groups.number
    is_real = tf.tile(groups.is_real, [1, times])
    boxes = tf.tile(tf.where(groups.is_real[..., None], boxes[:, : groups.most], 0.0), [1, times, 1])
    wanted = tf.where(groups.is_real, tf.cast(classes[:, : groups.most], tf.int32) - 1, num_classes)
    other = tf.minimum(tf.cast(noise.classes * num_classes, tf.int32), num_classes - 1)
    is_other = (noise.takes < rule.class_noise / 2) & is_real
    wanted = tf.where(is_other, other, tf.tile(wanted, [1, times]))
    is_far = tf.tile(tf.range(2 * groups.most) >= groups.most, [groups.number])[:, None]
    half = boxes[..., 2:] / 2
    corners = tf.concat([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)
    ways = tf.where(noise.signs < 0.5, -1.0, 1.0) * (noise.parts + tf.where(is_far, 1.0, 0.0))
    corners += ways * tf.tile(half, [1, 1, 2]) * rule.box_noise
    corners = tf.clip_by_value(corners, 0.0, 1.0)
    low, high = corners[..., :2], corners[..., 2:]
    return wanted, tf.concat([(low + high) / 2, tf.abs(high - low)], axis=-1)


def logit(shares: tf.Tensor) -> tf.Tensor:
    shares = tf.clip_by_value(shares, 0.0, 1.0)
    return tf.math.log(tf.maximum(shares, LEAST) / tf.maximum(1 - shares, LEAST))
