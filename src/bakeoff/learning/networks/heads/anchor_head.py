"""The head of detectors with anchors: boxes -> what each anchor should answer -> loss; answers -> boxes and scores."""

import tensorflow as tf

from bakeoff.learning.networks import boxes
from bakeoff.learning.networks.detector_settings import AnchorHeadSettings
from bakeoff.learning.networks.heads.anchor_matching import (
    BACKGROUND,
    IGNORED,
    NO_BOX,
    class_losses,
    hard_examples,
    match,
    smooth_l1,
)
from bakeoff.learning.networks.heads.head import Add, Tensors, divisor, no_spreads


class AnchorHead:
    def __init__(self, model: AnchorHeadSettings) -> None:
        self._model, self.anchors = model, model.anchor_boxes()
        self._boxes = tf.constant(self.anchors)

    @property
    def box_scales(self) -> tuple[float, ...]:
        return self._model.box_scales

    def encode(self, examples: Tensors) -> Tensors:
        """Return which class (0: background, -1: asks nothing) and which coded box each anchor should answer."""
        truth, classes = examples["boxes"], examples["classes"]  # (batch, n, 4), (batch, n) ids 1..k, 0: padding
        rule = self._model.loss
        overlap = boxes.overlaps(self._boxes[:, None], truth[:, None])
        matched = match(  # (batch, anchors)
            tf.where(classes[:, None] > 0, overlap, NO_BOX),
            rule.matched_from, rule.background_below, rule.match_every_box, next_best=self._model.next_best,
        )  # fmt: skip
        # In front stands a box for the anchors that match none; what they should answer is not asked.
        truth = tf.pad(truth, [[0, 0], [1, 0], [0, 0]])
        rows = tf.maximum(matched, BACKGROUND) + 1
        coded = boxes.code(tf.gather(truth, rows, batch_dims=1), self._boxes, self.box_scales)
        classes = tf.gather(tf.pad(classes, [[0, 0], [1, 0]]), rows, batch_dims=1)
        targets = {"classes": tf.where(matched == IGNORED, tf.constant(-1, tf.int64), classes), "boxes": coded}
        if "shares" in examples:
            targets["shares"] = tf.gather(tf.pad(examples["shares"], [[0, 0], [1, 0], [0, 0]]), rows, batch_dims=1)
        return targets

    def losses(self, outputs: Tensors, targets: Tensors, add: Add = tf.reduce_sum) -> tuple[Tensors, tf.Tensor]:
        rule, truth = self._model.loss, targets["classes"]
        matched = tf.cast(truth > 0, tf.float32)  # (batch, anchors)
        asked = matched + tf.cast(truth == 0, tf.float32) * rule.background_weight
        shares = targets.get("shares")
        of_classes = class_losses(outputs["classes"], truth, rule, shares) * asked[..., None]
        sure = matched if shares is None else matched * tf.reduce_sum(shares, axis=-1)
        of_boxes = smooth_l1(outputs["boxes"] - targets["boxes"], rule.smooth_l1_delta) * sure[..., None]
        if self._model.mining:
            chosen = self._hard_examples(outputs, truth, of_classes, of_boxes)[..., None]
            of_classes, of_boxes = of_classes * chosen, of_boxes * chosen
        count = add(matched)
        matches = divisor(count if rule.divide_by_matches else None)
        box_matches = matches * len(self.box_scales) if rule.divide_boxes_by_code_size else matches
        parts = {
            "classes": rule.class_weight * add(of_classes) / matches,
            "boxes": rule.box_weight * add(of_boxes) / box_matches,
        }
        return parts, count if rule.divide_by_matches else tf.ones_like(count)

    def _hard_examples(
        self, outputs: Tensors, truth: tf.Tensor, of_classes: tf.Tensor, of_boxes: tf.Tensor
    ) -> tf.Tensor:
        assert self._model.mining
        by_classes = self._model.loss.class_weight * tf.reduce_sum(of_classes, axis=-1)
        by_boxes = self._model.loss.box_weight * tf.reduce_sum(of_boxes, axis=-1)
        ranks = {"classes": by_classes, "boxes": by_boxes, "both": by_classes + by_boxes}
        return hard_examples(ranks[self._model.mining.ranked_by], self.boxes(outputs), truth, self._model.mining)

    def boxes(self, outputs: Tensors) -> tf.Tensor:
        return boxes.decode(outputs["boxes"], self._boxes, self.box_scales)

    def scores(self, outputs: Tensors) -> tf.Tensor:
        rule, logits = self._model.loss, outputs["classes"]
        scores = tf.nn.softmax(logits) if rule.scores == "softmax" else tf.sigmoid(logits)
        return scores[..., 1:] if rule.has_background else scores

    def spreads(self, outputs: Tensors) -> tf.Tensor:
        return no_spreads(outputs)

    def codes(self, outputs: Tensors) -> tf.Tensor:
        return outputs["boxes"]
