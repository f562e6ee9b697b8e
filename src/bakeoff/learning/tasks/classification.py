"""Classification of images and of clips. What is true of an example is one label, or any number of labels.

                one label                                       several labels
example, batch  "label" () int64 1..k                           "labels" (k,) float32, 1 for each label it has, else 0
loss            softmax cross-entropy                           sigmoid cross-entropy, mean over the classes
prediction      "classes" () int64 1..k, "scores" () 0..1,      "scores" (k,) 0..1, each by itself
                "probabilities" (k,) 0..1
headline        accuracy                                        mean average precision
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from bakeoff.learning.networks.network import Classifier

Tensors = dict[str, tf.Tensor]


@dataclass(frozen=True)
class OneLabel:
    """With a background, logit 0 takes part in the softmax but is never the answer."""

    classes: tuple[str, ...]
    background: bool
    headline: ClassVar[str] = "accuracy"
    measures: ClassVar[tuple[str, ...]] = ("accuracy", "macro_precision", "macro_recall", "macro_f1")
    key: ClassVar[str] = "label"

    def loss(self, label: tf.Tensor, logits: tf.Tensor, smoothing: float) -> tf.Tensor:
        """`label` is (batch,) ids, or (batch, k) the shares of the classes that a teacher gives."""
        outputs = len(self.classes) + self.background
        if label.shape.rank == 2:
            wanted = tf.pad(label, [[0, 0], [int(self.background), 0]])
        else:
            wanted = tf.one_hot(label if self.background else label - 1, outputs)
        wanted = wanted * (1 - smoothing) + smoothing / outputs
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, logits))

    def predict(self, logits: tf.Tensor) -> Tensors:
        probabilities = tf.nn.softmax(logits)[:, int(self.background) :]
        best, most = tf.argmax(probabilities, axis=-1), tf.reduce_max(probabilities, axis=-1)
        return {"classes": best + 1, "scores": most, "probabilities": probabilities}

    def score(self) -> ClassificationScore:
        return ClassificationScore(self.classes)

    def judge(self, batch: Tensors, predictions: Tensors) -> ClassificationScore:
        return self.score().update(make_answers(batch["label"].numpy(), predictions["probabilities"].numpy()))

    def iterate_answers(self, batch: Tensors, predictions: Tensors) -> Iterator[dict[str, Any]]:
        """Yield what is true of each example, and what the network answers."""
        for answer in self.judge(batch, predictions).answers:
            yield {"truth": answer.truth, "given": answer.given, "score": answer.probability}


@dataclass(frozen=True)
class SeveralLabels:
    classes: tuple[str, ...]
    headline: ClassVar[str] = "mean_average_precision"
    measures: ClassVar[tuple[str, ...]] = ("mean_average_precision", "mean_auc", "f1", "precision", "recall")
    key: ClassVar[str] = "labels"

    def loss(self, labels: tf.Tensor, logits: tf.Tensor, smoothing: float) -> tf.Tensor:
        wanted = labels * (1 - smoothing) + smoothing / 2  # each class is a question with two answers
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits))

    def predict(self, logits: tf.Tensor) -> Tensors:
        return {"scores": tf.sigmoid(logits)}

    def score(self) -> MultiLabelScore:
        return MultiLabelScore(self.classes)

    def judge(self, batch: Tensors, predictions: Tensors) -> MultiLabelScore:
        return self.score().update(batch["labels"].numpy() > 0.5, predictions["scores"].numpy())

    def iterate_answers(self, batch: Tensors, predictions: Tensors) -> Iterator[dict[str, Any]]:
        """Yield what is true of each example, and what the network answers."""
        for truth, scores in zip(batch["labels"].numpy() > 0.5, predictions["scores"].numpy(), strict=True):
            yield {"true_classes": np.flatnonzero(truth) + 1, "class_scores": scores}


@dataclass(frozen=True)
class LabelJudge:
    """Judges labels, whatever gave them."""

    labels: OneLabel | SeveralLabels

    @property
    def headline(self) -> str:
        return self.labels.headline

    @property
    def measures(self) -> tuple[str, ...]:
        return self.labels.measures

    def score(self) -> ClassificationScore | MultiLabelScore:
        return self.labels.score()

    def judge(self, batch: Tensors, predictions: Tensors) -> ClassificationScore | MultiLabelScore:
        return self.labels.judge(batch, predictions)

    def iterate_pictures(self, batch: Tensors, predictions: Tensors) -> Iterator[tuple[np.ndarray, dict]]:
        """Yield pixels and answer of each example, as `pictures` draws them."""
        return zip(batch["image"].numpy(), self.labels.iterate_answers(batch, predictions), strict=True)


class Classification(LabelJudge):
    def __init__(self, model: Classifier, classes: Sequence[str], multi_label: bool = False) -> None:
        if multi_label and model.background:
            raise ConfigError(
                "model.background: must be false for records with several labels an example, got True; "
                "there, an example without any label is background"
            )
        names = tuple(classes)
        super().__init__(SeveralLabels(names) if multi_label else OneLabel(names, model.background))
        self.model, self.classes = model, names

    def encode(self, example: Tensors) -> Tensors:
        return {self.labels.key: example.get("shares", example[self.labels.key])}

    def losses(self, outputs: Tensors, targets: Tensors) -> Tensors:
        truth, smoothing = targets[self.labels.key], self.model.label_smoothing
        losses = {"classes": self.labels.loss(truth, outputs["classes"], smoothing)}
        if self.model.auxiliary_weight:
            auxiliary = self.labels.loss(truth, outputs["auxiliary"], smoothing)
            losses["auxiliary"] = self.model.auxiliary_weight * auxiliary
        return losses

    def example_losses(self, outputs: Tensors, batch: Tensors) -> Tensors:
        """Return none: the score counts them from the probabilities."""
        return {}

    def predict(self, outputs: Tensors) -> Tensors:
        return self.labels.predict(outputs["classes"])
