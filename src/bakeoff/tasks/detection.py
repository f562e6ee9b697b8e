"""Detection: boxes -> anchor targets -> loss, and outputs -> detections."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import tensorflow as tf

from bakeoff.metrics import catalogue
from bakeoff.metrics.boxes import Boxes
from bakeoff.metrics.detection import DetectionScore, Loss
from bakeoff.networks import boxes
from bakeoff.networks.detector import Detector
from bakeoff.tasks.detection_losses import BACKGROUND, IGNORED, class_losses, divisor, hard_examples, match, smooth_l1


@dataclass(frozen=True)
class BoxJudge:
    """Judges detections, whatever found them."""

    classes: tuple[str, ...]
    headline: ClassVar[str] = catalogue.DETECTION.headline
    measures: ClassVar[tuple[str, ...]] = catalogue.DETECTION.measures

    def score(self) -> DetectionScore:
        return DetectionScore(self.classes)

    def judge(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> DetectionScore:
        """Return the score of one batch, counted in the pixels of the original images."""
        score = self.score()
        losses: list[Loss | None] = [*_losses(found)] or [None] * len(batch["height"])
        sizes = zip(batch["height"].numpy(), batch["width"].numpy(), strict=True)
        for (truth, given), (height, width), loss in zip(_examples(batch, found), sizes, losses, strict=True):
            pixels = np.array([height, width, height, width], np.float32)
            there = Boxes(truth["boxes"] * pixels, truth["classes"])
            score = score.update(there, Boxes(given["boxes"] * pixels, given["classes"], given["scores"]), loss)
        return score

    def shown(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> Iterator[tuple[np.ndarray, dict]]:
        """Yield pixels and boxes of each example, as `pictures` draws them."""
        for image, (truth, given) in zip(batch["image"].numpy(), _examples(batch, found), strict=True):
            yield image, {f"true_{key}": value for key, value in truth.items()} | given


class Detection:
    headline: ClassVar[str] = catalogue.DETECTION.headline
    measures: ClassVar[tuple[str, ...]] = catalogue.DETECTION.measures

    def __init__(self, model: Detector, classes: Sequence[str]) -> None:
        self.model, self.classes = model, tuple(classes)
        self.judgement = BoxJudge(self.classes)
        self.anchors = tf.constant(model.anchor_boxes())
        self.next_best: bool = getattr(model, "next_best", True)

    def encode(self, example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return which class (0: background, -1: asks nothing) and which coded box each anchor should answer."""
        truth, classes = example["boxes"], example["classes"]  # (n, 4), (n,) ids 1..k
        rule = self.model.loss
        overlap = boxes.overlaps(self.anchors, truth)
        matched = match(  # (anchors,)
            overlap, rule.matched_from, rule.background_below, rule.match_every_box, next_best=self.next_best
        )
        # In front stands a box for the anchors that match none; what they should answer is not asked.
        truth = tf.concat([tf.constant([[0.0, 0.0, 1.0, 1.0]]), truth], axis=0)
        classes = tf.concat([tf.zeros([1], tf.int64), classes], axis=0)
        rows = tf.maximum(matched, BACKGROUND) + 1
        coded = boxes.code(tf.gather(truth, rows), self.anchors, self.model.box_scales)
        classes = tf.where(matched == IGNORED, tf.constant(-1, tf.int64), tf.gather(classes, rows))
        return {"classes": classes, "boxes": coded}

    def losses(self, outputs: dict[str, tf.Tensor], targets: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the parts of the loss; training minimises their sum."""
        rule, truth = self.model.loss, targets["classes"]
        matched = tf.cast(truth > 0, tf.float32)  # (batch, anchors)
        asked = matched + tf.cast(truth == 0, tf.float32) * rule.background_weight
        of_classes = class_losses(outputs["classes"], truth, rule) * asked[..., None]
        of_boxes = smooth_l1(outputs["boxes"] - targets["boxes"], rule.smooth_l1_delta) * matched[..., None]
        if self.model.mining:
            chosen = self._hard_examples(outputs["boxes"], truth, of_classes, of_boxes)[..., None]
            of_classes, of_boxes = of_classes * chosen, of_boxes * chosen
        matches = divisor(tf.reduce_sum(matched) if rule.divide_by_matches else None)
        box_matches = matches * len(self.model.box_scales) if rule.divide_boxes_by_code_size else matches
        return {
            "classes": rule.class_weight * tf.reduce_sum(of_classes) / matches,
            "boxes": rule.box_weight * tf.reduce_sum(of_boxes) / box_matches,
        }

    def example_losses(self, outputs: dict[str, tf.Tensor], batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return what each image would cost in training alone in its batch: (batch, 3), the fields of a Loss."""

        def of_image(image: tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]) -> tf.Tensor:
            answers, corners, classes = image
            real = classes > 0  # the rest is padding
            targets = self.encode({"boxes": corners[real], "classes": classes[real]})
            alone = [{name: value[None] for name, value in tensors.items()} for tensors in (answers, targets)]
            parts = self.losses(*alone)
            matches = tf.reduce_sum(tf.cast(targets["classes"] > 0, tf.float32))
            return tf.stack([parts["classes"], parts["boxes"], matches if self.model.loss.divide_by_matches else 1.0])

        answers = {name: outputs[name] for name in ("classes", "boxes")}
        losses = tf.map_fn(of_image, (answers, batch["boxes"], batch["classes"]), fn_output_signature=tf.float32)
        return {"losses": losses}

    def _hard_examples(
        self, codes: tf.Tensor, truth: tf.Tensor, of_classes: tf.Tensor, of_boxes: tf.Tensor
    ) -> tf.Tensor:
        assert self.model.mining
        by_classes = self.model.loss.class_weight * tf.reduce_sum(of_classes, axis=-1)
        by_boxes = self.model.loss.box_weight * tf.reduce_sum(of_boxes, axis=-1)
        ranks = {"classes": by_classes, "boxes": by_boxes, "both": by_classes + by_boxes}
        decoded = boxes.decode(codes, self.anchors, self.model.box_scales)
        return hard_examples(ranks[self.model.mining.ranked_by], decoded, truth, self.model.mining)

    def predict(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return a batch's detections, best first, padded: boxes inside the image, scores, class ids 1..k, count."""
        rule = self.model.suppression
        decoded = boxes.decode(outputs["boxes"], self.anchors, self.model.box_scales)
        kept = tf.image.combined_non_max_suppression(
            decoded[:, :, None],
            self.class_scores(outputs["classes"]),
            max_output_size_per_class=rule.max_detections_per_class or rule.max_detections,
            max_total_size=rule.max_detections,
            iou_threshold=rule.max_overlap,
            score_threshold=rule.min_score,
            clip_boxes=True,
        )
        return {
            "boxes": kept.nmsed_boxes,
            "scores": kept.nmsed_scores,
            "classes": tf.cast(kept.nmsed_classes, tf.int64) + 1,
            "count": kept.valid_detections,
        }

    def class_scores(self, logits: tf.Tensor) -> tf.Tensor:
        """(batch, anchors, k), without the background."""
        rule = self.model.loss
        scores = tf.nn.softmax(logits) if rule.scores == "softmax" else tf.sigmoid(logits)
        return scores[..., 1:] if rule.has_background else scores

    def score(self) -> DetectionScore:
        return self.judgement.score()

    def judge(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> DetectionScore:
        return self.judgement.judge(batch, found)

    def shown(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> Iterator[tuple[np.ndarray, dict]]:
        return self.judgement.shown(batch, found)


def _losses(found: dict[str, tf.Tensor]) -> list[Loss]:
    return [Loss(*parts) for parts in found["losses"].numpy().tolist()] if "losses" in found else []


def _examples(batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> Iterator[tuple[dict, dict]]:
    """Yield the true boxes and the detections of each example, without padding."""
    truth = {key: batch[key].numpy() for key in ("boxes", "classes")}
    given = {key: found[key].numpy() for key in ("boxes", "classes", "scores")}
    for row, count in enumerate(found["count"].numpy()):
        real = truth["classes"][row] > 0
        yield (
            {key: value[row][real] for key, value in truth.items()},
            {key: value[row][:count] for key, value in given.items()},
        )
