"""The head of `SetDetector`: the losses of all its layers, and which boxes its answers are."""

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from bakeoff.learning.networks.boxes import code
from bakeoff.learning.networks.heads.head import Add, BoxTargets, Tensors, divisor
from bakeoff.learning.networks.heads.set_losses import (
    Asked,
    Lesson,
    lesson_weights,
    of_boxes,
    of_classes,
    of_lesson,
    of_sides,
    sides_spread,
    true_sides,
)
from bakeoff.learning.networks.heads.set_matching import Answers, Truth, match
from bakeoff.learning.networks.sets.denoising import groups_of
from bakeoff.learning.networks.sets.set_graph import as_middles

if TYPE_CHECKING:
    from bakeoff.learning.networks.set_detector import SetDetector


class SetHead(BoxTargets):
    box_scales: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)

    def __init__(self, model: "SetDetector") -> None:
        self._model = model
        self.anchors = np.tile(np.array([0, 0, 1, 1], np.float32), (model.queries, 1))  # all count from the image

    def losses(self, outputs: Tensors, targets: Tensors, add: Add = tf.reduce_sum) -> tuple[Tensors, tf.Tensor]:
        """Outputs of training have all layers, and are added in one; outside of it there is the last one alone."""
        told = targets.get("shares"), targets.get("spreads")
        truth = Truth(as_middles(targets["boxes"]), targets["classes"], *told)
        count = add(tf.cast(truth.classes > 0, tf.float32))
        if "references" in outputs:
            sums = self._of_all(outputs, truth, count)
        else:
            sums = self._of_last(outputs, truth, count, add)
        return dict(zip(("classes", "boxes"), sums, strict=True)), count

    def _of_last(self, outputs: Tensors, truth: Truth, count: tf.Tensor, add: Add) -> tuple[tf.Tensor, tf.Tensor]:
        answers, whole = Answers(outputs["boxes"], outputs["classes"]), divisor(count)
        rows, _ = match([answers], truth, self._model.matching)
        asked = Asked.of(rows[0], truth)
        rule = self._model.loss
        return of_classes(answers, asked, rule, add) / whole, of_boxes(answers, asked, rule, add) / whole

    def _of_all(self, outputs: Tensors, truth: Truth, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        beside = tf.shape(outputs["references"])[1] - self._model.queries  # queries that denoise
        # Of two slices the gradients would be two whole tensors, filled up with zeros.
        halves = {
            name: tf.split(value, [beside, self._model.queries], axis=-2)
            for name, value in outputs.items()
            if name.startswith(ALL)
        }
        parts = {name: own for name, (_, own) in halves.items()}
        layers = _layers(parts)
        encoder = Answers(outputs["encoder.boxes"], outputs["encoder.classes"])
        rows, union = match([*layers, encoder], truth, self._model.matching)
        each = [Asked.of(one, truth) for one in tf.unstack(rows)]
        together = Asked.of(union, truth) if self._model.loss.pairs == "union" else None
        whole = divisor(count)
        classes, boxes = self._sum(parts, layers, each[:-1], together, whole)
        pairs = together or each[-1]
        classes += of_classes(encoder, each[-1], self._model.loss) / whole
        boxes += of_boxes(encoder, pairs, self._model.loss) / (divisor(pairs.number) if together else whole)
        if self._model.denoising.queries:
            groups = groups_of(truth.classes, self._model.denoising.queries)
            parts = {name: noisy for name, (noisy, _) in halves.items()}
            layers, asked = _layers(parts), Asked.of(groups.find(), truth)
            weights = lesson_weights(together or each[0])
            more = self._sum(
                parts, layers, [asked] * len(layers), None, whole * tf.cast(groups.number, tf.float32), weights
            )
            some = tf.cast(count > 0, tf.float32)
            classes, boxes = classes + some * more[0], boxes + some * more[1]
        return classes, boxes

    def _sum(
        self,
        parts: Tensors,
        layers: list[Answers],
        each: list[Asked],
        together: Asked | None,
        whole: tf.Tensor | float,
        weights: tuple[tf.Tensor, tf.Tensor] | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the losses of all layers, and of the first one before its distances, which is the last of `layers`.

        `each`: the pairs of every layer; `together`: those that boxes learn from instead.
        """
        rule, corners = self._model.loss, tf.unstack(parts["layers.corners"], num=self._model.layers)
        classes, boxes = 0.0, 0.0
        known: Asked | None = None  # of which `sides` are
        for number, (answers, asked) in enumerate(zip(layers, each, strict=True)):
            pairs, share = (together, divisor(together.number)) if together else (asked, whole)
            classes += of_classes(answers, asked, rule) / whole
            boxes += of_boxes(answers, pairs, rule) / share
            if number == len(corners):
                break
            if rule.distribution_weight:
                if pairs is not known:
                    sides, known = true_sides(parts["references"], pairs), pairs
                boxes += of_sides(corners[number], sides, answers, pairs, rule) / share
            if rule.distillation_weight and number < len(corners) - 1:
                lesson = Lesson.of(corners[-1], layers[len(corners) - 1].classes, weights or lesson_weights(pairs))
                boxes += of_lesson(corners[number], lesson, answers, pairs, rule)
        return classes, boxes

    def boxes(self, outputs: Tensors) -> tf.Tensor:
        middles, half = outputs["boxes"][..., 1::-1], outputs["boxes"][..., 3:1:-1] / 2
        return tf.concat([middles - half, middles + half], axis=-1)

    def scores(self, outputs: Tensors) -> tf.Tensor:
        return tf.sigmoid(outputs["classes"])

    def spreads(self, outputs: Tensors) -> tf.Tensor:
        own = {name: outputs[name][..., -self._model.queries :, :] for name in ("layers.corners", "references")}
        return sides_spread(own["layers.corners"][-1], own["references"], outputs["boxes"])

    def codes(self, outputs: Tensors) -> tf.Tensor:
        return code(self.boxes(outputs), tf.constant(self.anchors), self.box_scales)


ALL = ("layers.", "first.", "references")  # outputs that have the queries that denoise in front


def _layers(parts: Tensors) -> list[Answers]:
    boxes, classes = (tf.unstack(parts[f"layers.{name}"]) for name in ("boxes", "classes"))
    return [*map(Answers, boxes, classes), Answers(parts["first.boxes"], parts["first.classes"])]
