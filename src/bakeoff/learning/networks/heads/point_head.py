"""The head of `PointDetector`: which points are to find which box, what their answers cost, and which boxes they are.

Assignment and loss are those of TOOD (arXiv:2108.07755), with the distribution focal loss of GFL (arXiv:2006.04388).
"""

from typing import TYPE_CHECKING, NamedTuple

import tensorflow as tf

from bakeoff.learning.networks.boxes import centres_and_sizes, overlaps
from bakeoff.learning.networks.detector_settings import grid_points
from bakeoff.learning.networks.heads.head import BELOW_1, Add, GridHead, Hold, Tensors, as_it_is, divisor, find_shares
from bakeoff.learning.networks.heads.side_bins import shares_of, spread_of, widths_of

if TYPE_CHECKING:
    from bakeoff.learning.networks.point_detector import PointDetector

NEVER = -1e9  # the logarithm of how well a point suits a box that it is not in
LEAST = 1e-9


class Assigned(NamedTuple):
    """What each point is asked, all (batch, points, …)."""

    boxes: tf.Tensor  # (…, 4), of points that are asked for one
    classes: tf.Tensor  # ids 1..k; 0: nothing
    scores: tf.Tensor  # the target score of the class; 0 for the background
    shares: tf.Tensor  # (…, k) of the classes; all of it the one's, unless a teacher says otherwise
    there: tf.Tensor  # the sum of them
    spreads: tf.Tensor | None = None  # how sure a teacher is of the sides, in shares of the box


class PointHead(GridHead):
    def __init__(self, model: "PointDetector") -> None:
        places, steps = grid_points(model.input_size, model.strides)
        super().__init__(places, steps)
        self._model = model
        self._finest = float(steps.min())
        self._bins = tf.range(model.bins, dtype=tf.float32)

    def losses(self, outputs: Tensors, targets: Tensors, add: Add = tf.reduce_sum) -> tuple[Tensors, tf.Tensor]:
        rule, predicted = self._model.loss, self.boxes(outputs)
        asked = self.assign(outputs["classes"], predicted, targets)
        count = add(asked.scores)
        whole = divisor(count)
        overlap = overlaps(predicted, asked.boxes, kind=rule.overlap)
        of_boxes = rule.overlap_weight * (1 - overlap) + rule.distribution_weight * self._of_sides(outputs, asked)
        # Where nothing is asked for, a gradient times 0 need not be 0: the box there is not of this world.
        of_boxes = tf.where(asked.classes > 0, of_boxes, 0.0) * asked.scores * asked.there
        parts = {
            "classes": rule.class_weight * add(self._of_classes(outputs["classes"], asked)) / whole,
            "boxes": add(of_boxes) / whole,
        }
        return parts, count

    def assign(self, logits: tf.Tensor, predicted: tf.Tensor, targets: Tensors) -> Assigned:
        """Choose for each box the points that suit it best; of several boxes a point finds the one it overlaps most."""
        rule, truth, classes = self._model.assignment, targets["boxes"], targets["classes"]
        scores = tf.gather(tf.math.log_sigmoid(logits), tf.maximum(classes - 1, 0), axis=2, batch_dims=1)
        overlap = overlaps(predicted[:, :, None], truth[:, None])  # (batch, points, boxes)
        suits = rule.score_power * scores + rule.overlap_power * tf.math.log(tf.maximum(overlap, LEAST))
        may = self._is_inside(truth) & (classes > 0)[:, None]
        suits = tf.where(may, suits, NEVER)
        most = min(rule.points, len(self.anchors))
        least = tf.math.top_k(tf.transpose(suits, [0, 2, 1]), most).values[..., -1]  # (batch, boxes)
        chosen = may & (suits >= least[:, None])
        chosen &= tf.one_hot(tf.argmax(tf.where(chosen, overlap, -1.0), axis=2), tf.shape(truth)[1], True, False)
        best = tf.reduce_max(tf.where(chosen, suits, NEVER), axis=1, keepdims=True)
        fitting = tf.reduce_max(tf.where(chosen, overlap, 0.0), axis=1, keepdims=True)
        wanted = tf.where(chosen, tf.exp(tf.minimum(suits - best, 0.0)) * fitting, 0.0)
        row = tf.argmax(tf.cast(chosen, tf.int32), axis=2)  # 0 where none is
        is_asked = tf.reduce_any(chosen, axis=2)
        ids = tf.where(is_asked, tf.gather(classes, row, batch_dims=1), 0)
        shares = find_shares(targets, row, ids, logits.shape[-1])
        asked = [tf.gather(truth, row, batch_dims=1), ids, tf.reduce_sum(wanted, axis=2), *shares]
        if "spreads" in targets:
            asked.append(tf.gather(targets["spreads"], row, batch_dims=1))
        return Assigned(*map(tf.stop_gradient, asked))

    def _is_inside(self, truth: tf.Tensor) -> tf.Tensor:
        """Tell which points are in which box (batch, points, boxes); of a tiny one its surroundings count."""
        centre, size = centres_and_sizes(truth)
        reach = tf.maximum(size, self._finest) / 2
        return tf.reduce_all(tf.abs(self._places[:, None] - centre[:, None]) <= reach[:, None], axis=-1)

    def _of_classes(self, logits: tf.Tensor, asked: Assigned) -> tf.Tensor:
        wanted = asked.shares * asked.scores[..., None]
        entropy = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
        gamma = self._model.loss.focal_gamma
        if not gamma:
            return entropy
        missed = tf.maximum(tf.abs(wanted - tf.sigmoid(logits)), LEAST)  # a power below 1 has an infinite gradient at 0
        return missed**gamma * entropy

    def _of_sides(self, outputs: Tensors, asked: Assigned) -> tf.Tensor:
        """Return the mean of the four sides' cross-entropies, each with the bins around the true distance."""
        low = (self._places - asked.boxes[..., :2]) / self._steps
        high = (asked.boxes[..., 2:] - self._places) / self._steps
        true = tf.concat([low[..., ::-1], high[..., ::-1]], axis=-1)
        true = tf.clip_by_value(true, 0.0, self._model.bins - 1.0)
        spreads = None
        if asked.spreads is not None:
            spreads = asked.spreads[..., None] * _across(centres_and_sizes(asked.boxes)[1]) / self._steps
        wanted = shares_of(self._bins, true, spreads)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, self._sides(outputs)), axis=-1)

    def _sides(self, outputs: Tensors) -> tf.Tensor:
        """(batch, points, 4, bins)."""
        return tf.reshape(outputs["boxes"], [-1, len(self.anchors), 4, self._model.bins])

    def distances(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor:
        """Return how far the sides are away, left, up, right and down, in strides: (batch, points, 4)."""
        most = self._model.bins - 1.0
        weighted = hold(hold(tf.nn.softmax(self._sides(outputs)), 0.0, BELOW_1) * self._bins, 0.0, most)
        return hold(tf.reduce_sum(weighted, axis=-1), 0.0, most)

    def boxes(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor:
        low, high = self._both_ways(outputs, hold)
        low, high = (hold(away * self._steps, 0.0, 1.0) for away in (low, high))
        return hold(tf.concat([hold(self._places - low, 0.0, 1.0), hold(self._places + high, 0.0, 1.0)], -1), 0.0, 1.0)

    def _both_ways(self, outputs: Tensors, hold: Hold = as_it_is) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the distances up and left, and down and right."""
        away = self.distances(outputs, hold)
        return away[..., 1::-1], away[..., :1:-1]

    def scores(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor:
        return hold(tf.sigmoid(outputs["classes"]), 0.0, BELOW_1)

    def spreads(self, outputs: Tensors) -> tf.Tensor:
        sizes = centres_and_sizes(self.boxes(outputs))[1] / self._steps
        return spread_of(widths_of(self._bins, self._sides(outputs)), _across(sizes))

    def codes(self, outputs: Tensors) -> tf.Tensor:
        low, high = self._both_ways(outputs)
        return tf.concat([(high - low) / 2, tf.math.log(tf.maximum(low + high, LEAST))], axis=-1)


def _across(sizes: tf.Tensor) -> tf.Tensor:
    """Return of left, up, right and down the width or the height, of sizes (…, 2) height and width."""
    return tf.concat([sizes[..., ::-1]] * 2, axis=-1)
