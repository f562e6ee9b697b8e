"""What the networks that classify images or clips have in common: settings that their task reads, and their checks."""

from typing import Protocol

from bakeoff.errors import require


class Classifier(Protocol):
    """Its `build` gives {"classes": logits (batch, k)} or, with a class for the background, (batch, 1 + k)."""

    @property
    def dropout(self) -> float: ...

    @property
    def batch_norm_momentum(self) -> float: ...

    @property
    def label_smoothing(self) -> float: ...

    @property
    def central_crop(self) -> float: ...

    @property
    def background(self) -> bool:
        """Whether logit 0 stands for none of the classes, which then begin at logit 1."""

    @property
    def auxiliary_weight(self) -> float:
        """Of the loss on logits named "auxiliary" beside "classes"; 0 without such logits."""


def require_classifier(network: Classifier) -> None:
    require(0 <= network.dropout < 1, "dropout", network.dropout, "at least 0 and under 1")
    require(0 < network.batch_norm_momentum < 1, "batch_norm_momentum", network.batch_norm_momentum, "between 0 and 1")
    require(0 <= network.label_smoothing < 1, "label_smoothing", network.label_smoothing, "at least 0 and under 1")
    require(0.1 <= network.central_crop <= 1, "central_crop", network.central_crop, "between 0.1 and 1")
