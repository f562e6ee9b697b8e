"""Classification of images and of clips: one label an example, or several."""

from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from bakeoff.errors import ConfigError
from bakeoff.metrics.classification import ClassificationScore
from bakeoff.metrics.multi_label import MultiLabelScore
from bakeoff.networks.classifier import Classifier
from bakeoff.tasks.labels import OneLabel, SeveralLabels

Tensors = dict[str, tf.Tensor]


class Classification:
    def __init__(self, model: Classifier, classes: Sequence[str], multi_label: bool = False) -> None:
        if multi_label and model.background:
            raise ConfigError(
                "model.background: must be false for records with several labels an example, got True; "
                "there, an example without any label is background"
            )
        self.model, self.classes = model, tuple(classes)
        self.labels = SeveralLabels(self.classes) if multi_label else OneLabel(self.classes, model.background)

    @property
    def headline(self) -> str:
        return self.labels.headline

    @property
    def measures(self) -> tuple[str, ...]:
        return self.labels.measures

    def encode(self, example: Tensors) -> Tensors:
        return {self.labels.key: example[self.labels.key]}

    def losses(self, outputs: Tensors, targets: Tensors) -> Tensors:
        truth, smoothing = targets[self.labels.key], self.model.label_smoothing
        losses = {"classes": self.labels.loss(truth, outputs["classes"], smoothing)}
        if self.model.auxiliary_weight:
            auxiliary = self.labels.loss(truth, outputs["auxiliary"], smoothing)
            losses["auxiliary"] = self.model.auxiliary_weight * auxiliary
        return losses

    def predict(self, outputs: Tensors) -> Tensors:
        return self.labels.predict(outputs["classes"])

    def score(self) -> ClassificationScore | MultiLabelScore:
        return self.labels.score()

    def judge(self, batch: Tensors, found: Tensors) -> ClassificationScore | MultiLabelScore:
        return self.labels.judge(batch, found)

    def shown(self, batch: Tensors, found: Tensors) -> Iterator[tuple[np.ndarray, dict]]:
        """Pixels and answer of each example, as `pictures` draws them."""
        return zip(batch["image"].numpy(), self.labels.shown(batch, found), strict=True)
