"""Detection: boxes -> anchor targets -> loss, and outputs -> detections."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from bakeoff import boxes
from bakeoff.metrics.detection import Boxes, DetectionScore
from bakeoff.networks.detector import Detector
from bakeoff.tasks.matching import match


class Detection:
    headline: ClassVar[str] = "mAP_50"

    def __init__(self, model: Detector, classes: Sequence[str]) -> None:
        self.model, self.classes = model, tuple(classes)
        self.anchors = tf.constant(model.anchor_boxes())

    def encode(self, example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Which class (0 is the background) and which coded box each anchor should answer."""
        truth, classes = example["boxes"], example["classes"]  # (n, 4), (n,) ids 1..k
        matched = match(boxes.overlaps(self.anchors, truth), self.model.loss.matched_from)  # (anchors,) -1 for none
        # In front stands a box for the anchors that match none; what they should answer is not asked.
        truth = tf.concat([tf.constant([[0.0, 0.0, 1.0, 1.0]]), truth], axis=0)
        classes = tf.concat([tf.zeros([1], tf.int64), classes], axis=0)
        coded = boxes.code(tf.gather(truth, matched + 1), self.anchors, self.model.box_scales)
        return {"classes": tf.gather(classes, matched + 1), "boxes": coded}

    def losses(self, outputs: dict[str, tf.Tensor], targets: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """The parts of the loss; training minimises their sum."""
        settings = self.model.loss
        matched = tf.cast(targets["classes"] > 0, tf.float32)  # (batch, anchors)
        matches = tf.maximum(tf.reduce_sum(matched), 1.0)
        wanted = tf.one_hot(targets["classes"] - 1, len(self.classes))  # the background is a row of zeros
        focal = _focal(outputs["classes"], wanted, settings.focal_alpha, settings.focal_gamma)
        off = _smooth_l1(outputs["boxes"] - targets["boxes"], settings.smooth_l1_delta)
        return {
            "classes": settings.class_weight * tf.reduce_sum(focal) / matches,
            "boxes": settings.box_weight * tf.reduce_sum(off * matched[..., None]) / matches,
        }

    def predict(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Detections of a batch, best first, padded: boxes inside the image, scores, class ids 1..k, count."""
        rule = self.model.suppression
        decoded = boxes.decode(outputs["boxes"], self.anchors, self.model.box_scales)
        kept = tf.image.combined_non_max_suppression(
            decoded[:, :, None],
            tf.sigmoid(outputs["classes"]),
            max_output_size_per_class=rule.max_detections,
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

    def score(self) -> DetectionScore:
        return DetectionScore(self.classes)

    def judge(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> DetectionScore:
        """The score of one batch, counted in the pixels of the original images."""
        score = self.score()
        truth = {key: batch[key].numpy() for key in ("boxes", "classes", "height", "width")}
        given = {key: value.numpy() for key, value in found.items()}
        for row, (height, width) in enumerate(zip(truth["height"], truth["width"], strict=True)):
            pixels = np.array([height, width, height, width], np.float32)
            real = truth["classes"][row] > 0  # the rest is padding
            count = given["count"][row]
            score = score.update(
                Boxes(truth["boxes"][row][real] * pixels, truth["classes"][row][real]),
                Boxes(
                    given["boxes"][row][:count] * pixels, given["classes"][row][:count], given["scores"][row][:count]
                ),
            )
        return score

    def shown(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> Iterator[tuple[np.ndarray, dict]]:
        """Pixels and boxes of each example, as `pictures` draws them."""
        given = {key: value.numpy() for key, value in found.items()}
        for row, image in enumerate(batch["image"].numpy()):
            real, count = batch["classes"][row].numpy() > 0, given["count"][row]
            truth = {
                "true_boxes": batch["boxes"][row].numpy()[real],
                "true_classes": batch["classes"][row].numpy()[real],
            }
            yield image, truth | {key: given[key][row][:count] for key in ("boxes", "classes", "scores")}


def _focal(logits: tf.Tensor, wanted: tf.Tensor, alpha: float, gamma: float) -> tf.Tensor:
    """Binary cross-entropy, less for what is already answered well (Lin et al., arXiv:1708.02002)."""
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    answer = tf.sigmoid(logits)
    missed = wanted * (1 - answer) + (1 - wanted) * answer
    missed = tf.maximum(missed, 1e-12)  # the slope of a power below 1 has no end at 0
    weight = wanted * alpha + (1 - wanted) * (1 - alpha)
    return weight * missed**gamma * entropy


def _smooth_l1(difference: tf.Tensor, delta: float) -> tf.Tensor:
    size = tf.abs(difference)
    return tf.where(size < delta, size * size / (2 * delta), size - delta / 2)
