"""The head of `Yolox`: which points are to find a box (SimOTA), what their answers cost, and which boxes they are."""

from typing import TYPE_CHECKING, NamedTuple

import tensorflow as tf

from bakeoff.learning.networks.boxes import centres_and_sizes, overlaps
from bakeoff.learning.networks.detector_settings import grid_points
from bakeoff.learning.networks.heads.head import BELOW_1, Add, GridHead, Hold, Tensors, as_it_is, divisor, find_shares

if TYPE_CHECKING:
    from bakeoff.learning.networks.yolox import Yolox

FAR = 1e6  # the cost of a point that is near another box, and not near this one
NEVER = 1e12
LEAST = 1e-8
LEAST_LOGARITHM = -100.0  # in the cross-entropy of a certain answer
MOST_LOGARITHM = 10.0  # of a box's growth, as in networks/boxes.py
LEAST_HALF = -8.0  # the logarithm of half a box's side, in shares of the image, that eight bits still tell


class YoloxTargets(NamedTuple):
    """What each point is asked, all (batch, points, …)."""

    boxes: tf.Tensor  # (…, 4), of points that are asked for one
    classes: tf.Tensor  # ids 1..k; 0: nothing
    overlaps: tf.Tensor  # of the answered box with that one; 0 for the background
    shares: tf.Tensor  # (…, k) of the classes; all of it the one's, unless a teacher says otherwise
    there: tf.Tensor  # the sum of them


class YoloxHead(GridHead):
    def __init__(self, model: "Yolox") -> None:
        places, steps = grid_points(model.input_size, model.strides)
        super().__init__(places, steps)
        self._reach = (model.assignment.radius + 0.5) * float(steps.max())  # of a middle from its point, about
        self._model = model

    def losses(self, outputs: Tensors, targets: Tensors, add: Add = tf.reduce_sum) -> tuple[Tensors, tf.Tensor]:
        rule, predicted = self._model.loss, self.boxes(outputs)
        asked = self.assign(outputs["classes"], predicted, targets)
        is_asked = asked.classes > 0
        count = add(tf.cast(is_asked, tf.float32))
        whole = divisor(count)
        # Where nothing is asked for, a gradient times 0 need not be 0: the box there is not of this world.
        missed = tf.where(is_asked, 1 - overlaps(predicted, asked.boxes) ** 2, 0.0) * asked.there
        there, classes = outputs["classes"][..., 0], outputs["classes"][..., 1:]
        wanted = asked.shares * asked.overlaps[..., None]
        of_classes = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(wanted, classes), axis=-1)
        of_objects = tf.nn.sigmoid_cross_entropy_with_logits(asked.there, there)
        of_both = rule.object_weight * of_objects + rule.class_weight * tf.where(is_asked, of_classes, 0.0)
        of_boxes = rule.box_weight * add(missed)
        if rule.coordinate_weight:
            away = tf.where(is_asked, self._of_coordinates(outputs["boxes"], asked.boxes), 0.0) * asked.there
            of_boxes += rule.coordinate_weight * add(away)
        return {"classes": add(of_both) / whole, "boxes": of_boxes / whole}, count

    def _of_coordinates(self, answers: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
        """Return how far the answers are from those that would give these boxes: (batch, points)."""
        centre, size = centres_and_sizes(boxes)
        middle = (centre - self._places) / self._steps + 0.5
        true = tf.concat([middle[..., ::-1], tf.math.log(size / self._steps + LEAST)[..., ::-1]], axis=-1)
        return tf.reduce_sum(tf.abs(answers - true), axis=-1)

    def assign(self, logits: tf.Tensor, predicted: tf.Tensor, targets: Tensors) -> YoloxTargets:
        """Choose for each box the points whose answers cost least; of several boxes a point finds the cheapest."""
        rule, truth, classes = self._model.assignment, targets["boxes"], targets["classes"]
        is_near = self._is_near(truth) & (classes > 0)[:, None]  # (batch, points, boxes)
        may = tf.reduce_any(is_near, axis=2, keepdims=True) & (classes > 0)[:, None]
        overlap = tf.where(may, overlaps(predicted[:, :, None], truth[:, None]), 0.0)
        cost = self._of_classes(logits, classes) - rule.overlap_weight * tf.math.log(overlap + LEAST)
        cost = tf.where(may, cost + tf.where(is_near, 0.0, FAR), NEVER)
        most = min(rule.points, len(self.anchors))
        best = tf.math.top_k(tf.transpose(overlap, [0, 2, 1]), most).values
        number = tf.maximum(tf.cast(tf.reduce_sum(best, axis=-1), tf.int32), 1)  # (batch, boxes)
        cheapest = tf.math.top_k(-tf.transpose(cost, [0, 2, 1]), most)
        limit, last = (tf.gather(one, number - 1, axis=2, batch_dims=2)[:, None] for one in cheapest)
        place = tf.range(len(self.anchors))[:, None]  # of equal costs the first ones count
        chosen = may & ((cost < -limit) | ((cost == -limit) & (place <= last)))
        is_shared = tf.math.count_nonzero(chosen, axis=2, keepdims=True) > 1
        chosen = tf.where(is_shared, tf.one_hot(tf.argmin(cost, axis=2), tf.shape(truth)[1], True, False), chosen)
        row = tf.argmax(tf.cast(chosen, tf.int32), axis=2)  # 0 where none is
        ids = tf.where(tf.reduce_any(chosen, axis=2), tf.gather(classes, row, batch_dims=1), 0)
        shares = find_shares(targets, row, ids, logits.shape[-1] - 1)
        found = tf.reduce_sum(tf.where(chosen, overlap, 0.0), axis=2)
        asked = YoloxTargets(tf.gather(truth, row, batch_dims=1), ids, found, *shares)
        return YoloxTargets(*map(tf.stop_gradient, asked))

    def _is_near(self, truth: tf.Tensor) -> tf.Tensor:
        """Tell which points are near the middle of which box (batch, points, boxes)."""
        centre, _ = centres_and_sizes(truth)
        away = tf.abs(self._places[:, None] - centre[:, None])
        return tf.reduce_all(away < self._model.assignment.radius * self._steps[:, None], axis=-1)

    def _of_classes(self, logits: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
        """Return the cross-entropy of the scores' roots with each box's class: (batch, points, boxes)."""
        scores = tf.sqrt(_scores(logits))
        found = tf.maximum(tf.math.log(scores), LEAST_LOGARITHM)
        other = tf.maximum(tf.math.log1p(-scores), LEAST_LOGARITHM)
        own = tf.gather(found - other, tf.maximum(classes - 1, 0), axis=2, batch_dims=1)
        return -own - tf.reduce_sum(other, axis=-1, keepdims=True)

    def boxes(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor:
        """A logarithm is added, not its power multiplied: in eight bits, one scale fits the boxes of all levels."""
        answers, corners = outputs["boxes"], self._places - self._steps / 2
        moved = hold(answers[..., 1::-1] * self._steps, -self._reach, self._reach)
        middle = hold(corners + moved, 0.0, 1.0)
        grown = hold(answers[..., 3:1:-1] + tf.math.log(self._steps / 2), LEAST_HALF, 0.0)
        half = hold(tf.exp(tf.minimum(grown, MOST_LOGARITHM)), 0.0, 1.0)
        return hold(tf.concat([hold(middle - half, 0.0, 1.0), hold(middle + half, 0.0, 1.0)], axis=-1), 0.0, 1.0)

    def scores(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor:
        return _scores(outputs["classes"], hold)

    def codes(self, outputs: Tensors) -> tf.Tensor:
        answers = outputs["boxes"]
        grown = tf.minimum(answers[..., 3:1:-1], MOST_LOGARITHM)
        return tf.concat([answers[..., 1::-1] - 0.5, grown], axis=-1)


def _scores(logits: tf.Tensor, hold: Hold = as_it_is) -> tf.Tensor:
    both = hold(tf.sigmoid(logits), 0.0, BELOW_1)
    return hold(both[..., 1:] * both[..., :1], 0.0, BELOW_1)
