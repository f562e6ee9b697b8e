"""Classification of images and of clips: one label an example."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from bakeoff.metrics.classification import Answer, ClassificationScore
from bakeoff.networks.cnn import ClipCnn, Cnn


class Classification:
    headline: ClassVar[str] = "accuracy"

    def __init__(self, model: Cnn | ClipCnn, classes: Sequence[str]) -> None:
        self.model, self.classes = model, tuple(classes)

    def encode(self, example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"label": example["label"]}

    def losses(self, outputs: dict[str, tf.Tensor], targets: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        count, smoothing = len(self.classes), self.model.label_smoothing
        wanted = tf.one_hot(targets["label"] - 1, count) * (1 - smoothing) + smoothing / count
        return {"classes": tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, outputs["classes"]))}

    def predict(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Class ids 1..k and their probabilities."""
        probabilities = tf.nn.softmax(outputs["classes"])
        return {"classes": tf.argmax(probabilities, axis=-1) + 1, "scores": tf.reduce_max(probabilities, axis=-1)}

    def score(self) -> ClassificationScore:
        return ClassificationScore(self.classes)

    def judge(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> ClassificationScore:
        given = zip(batch["label"].numpy(), found["classes"].numpy(), found["scores"].numpy(), strict=True)
        return self.score().update([Answer(int(truth), int(label), float(score)) for truth, label, score in given])

    def shown(self, batch: dict[str, tf.Tensor], found: dict[str, tf.Tensor]) -> Iterator[tuple[np.ndarray, dict]]:
        """Pixels and answer of each example, as `pictures` draws them."""
        for row, answer in enumerate(self.judge(batch, found).answers):
            yield (
                batch["image"][row].numpy(),
                {"truth": answer.truth, "given": answer.given, "score": answer.probability},
            )
