"""Detection: boxes -> targets -> loss, and outputs -> detections. What outputs mean is the network's own to say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import tensorflow as tf

from bakeoff.learning.input.letterbox_graph import place_boxes
from bakeoff.learning.metrics import names
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.detection import DetectionScore, Loss
from bakeoff.learning.networks.boxes import overlaps
from bakeoff.learning.networks.detector_settings import Detector, Suppression
from bakeoff.learning.networks.heads.head import TOLD, add_by_image

AT_ONCE = 2**18  # answered numbers of an image; with more, the losses of a batch are counted image by image


@dataclass(frozen=True)
class BoxJudge:
    """Judges predictions of boxes, whatever made them."""

    classes: tuple[str, ...]
    headline: ClassVar[str] = names.DETECTION.headline
    measures: ClassVar[tuple[str, ...]] = names.DETECTION.measures

    def score(self) -> DetectionScore:
        return DetectionScore(self.classes)

    def judge(self, batch: dict[str, tf.Tensor], predictions: dict[str, tf.Tensor]) -> DetectionScore:
        """Return the score of one batch, counted in the pixels of the original images."""
        score = self.score()
        given_losses = predictions["losses"].numpy().tolist() if "losses" in predictions else []
        losses: list[Loss | None] = [Loss(*parts) for parts in given_losses] or [None] * len(batch["height"])
        sizes = zip(batch["height"].numpy(), batch["width"].numpy(), strict=True)
        for (truth, given), (height, width), loss in zip(_examples(batch, predictions), sizes, losses, strict=True):
            pixels = np.array([height, width, height, width], np.float32)
            there = Boxes(truth["boxes"] * pixels, truth["classes"])
            score = score.update(there, Boxes(given["boxes"] * pixels, given["classes"], given["scores"]), loss)
        return score

    def iterate_pictures(
        self, batch: dict[str, tf.Tensor], predictions: dict[str, tf.Tensor]
    ) -> Iterator[tuple[np.ndarray, dict]]:
        """Yield pixels and boxes of each example, as `pictures` draws them: as the network is shown them."""
        batch, predictions = (part | {"boxes": place_boxes(part["boxes"], batch)} for part in (batch, predictions))
        for image, (truth, given) in zip(batch["image"].numpy(), _examples(batch, predictions), strict=True):
            yield image, {f"true_{key}": value for key, value in truth.items()} | given


class Detection(BoxJudge):
    def __init__(self, model: Detector, classes: Sequence[str]) -> None:
        super().__init__(tuple(classes))
        self.model, self.head = model, model.head()

    def encode(self, example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return what the network's head compares its outputs with."""
        batch = self.head.encode({name: example[name][None] for name in TOLD if name in example})
        return {name: value[0] for name, value in batch.items()}

    def losses(self, outputs: dict[str, tf.Tensor], targets: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the parts of the loss; training minimises their sum."""
        return self.head.losses(outputs, targets)[0]

    def example_losses(self, outputs: dict[str, tf.Tensor], batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return what each image would cost in training alone in its batch: (batch, 3), the fields of a Loss."""

        def count(images: tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]) -> tf.Tensor:
            answers, truth = images
            parts, divisors = self.head.losses(answers, self.head.encode(truth), add_by_image)
            return tf.stack([parts["classes"], parts["boxes"], divisors], axis=1)

        def count_alone(image: tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]) -> tf.Tensor:
            return count(tf.nest.map_structure(lambda value: value[None], image))[0]

        answers = {name: outputs[name] for name in ("classes", "boxes")}
        images = answers, {"boxes": place_boxes(batch["boxes"], batch), "classes": batch["classes"]}
        if sum(math.prod(value.shape[1:]) for value in answers.values()) <= AT_ONCE:
            return {"losses": count(images)}
        return {"losses": tf.map_fn(count_alone, images, fn_output_signature=tf.float32)}

    def predict(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return a batch's detections, best first, as `suppress` does."""
        return suppress(self.head.boxes(outputs), self.head.scores(outputs), self.model.suppression)

    def spreads(self, outputs: dict[str, tf.Tensor], predictions: dict[str, tf.Tensor]) -> tf.Tensor:
        """Return how sure the sides of each detection are (batch, detections): what its candidate says of them."""
        candidates = tf.clip_by_value(self.head.boxes(outputs), 0.0, 1.0)
        which = tf.argmax(overlaps(predictions["boxes"][:, :, None], candidates[:, None]), axis=-1)
        return tf.gather(self.head.spreads(outputs), which, batch_dims=1)


def _examples(batch: dict[str, tf.Tensor], predictions: dict[str, tf.Tensor]) -> Iterator[tuple[dict, dict]]:
    """Yield the true boxes and the detections of each example, without padding."""
    truth = {key: batch[key].numpy() for key in ("boxes", "classes")}
    given = {key: predictions[key].numpy() for key in ("boxes", "classes", "scores")}
    for row, count in enumerate(predictions["count"].numpy()):
        real = truth["classes"][row] > 0
        yield (
            {key: value[row][real] for key, value in truth.items()},
            {key: value[row][:count] for key, value in given.items()},
        )


def suppress(boxes: tf.Tensor, scores: tf.Tensor, rule: Suppression) -> dict[str, tf.Tensor]:
    """Return a batch's detections, best first, padded: boxes inside the image, scores, class ids 1..k, count.

    Exported files have their own: tflite_build.py puts it into the graph, nms_numpy.py does it beside a runtime.
    """
    kept = tf.image.combined_non_max_suppression(
        boxes[:, :, None],
        scores,
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
