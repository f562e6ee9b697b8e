"""Inception v3 as it was published: an auxiliary head, label smoothing and, if asked for, a class for background."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.errors import require
from bakeoff.networks.classifier import require_classifier
from bakeoff.networks.sampling import Sampling

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True)
class InceptionV3:
    """https://arxiv.org/abs/1512.00567"""

    task: ClassVar[str] = "classification"
    frames: ClassVar[int] = 1
    sampling: ClassVar[Sampling] = Sampling()
    smallest_input: ClassVar[int] = 75
    input_size: int = 299
    dropout: float = 0.2
    batch_norm_momentum: float = 0.99
    label_smoothing: float = 0.1
    central_crop: float = 1.0  # share of each side that is looked at outside training
    auxiliary_weight: float = 0.4  # of the second head's loss; 0: no such head
    background: bool = False  # one more output, for none of the classes

    def __post_init__(self) -> None:
        least = self.smallest_input
        require(self.input_size >= least, "input_size", self.input_size, f"{least} or more")
        require(0 <= self.auxiliary_weight <= 1, "auxiliary_weight", self.auxiliary_weight, "between 0 and 1")
        require_classifier(self)

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        backbone = ("conv2d/*", "conv2d_*", "batch_normalization/*", "batch_normalization_*")
        if not self.auxiliary_weight:
            return {"backbone": backbone, "head": ("logits/*",), "logits": ("logits/*",)}
        return {
            "backbone": backbone,
            "head": ("logits/*", "auxiliary.*"),
            "logits": ("logits/*", "auxiliary.logits/*"),
            "auxiliary": ("auxiliary.*",),
        }

    def build(self, num_classes: int) -> "keras.Model":
        """Images 0..255 (batch, size, size, 3) -> logits (batch, k) {"classes": ..., "auxiliary": ...}."""
        from bakeoff.networks import inception_graph

        return inception_graph.build(self, num_classes)

    def imagenet(self) -> "keras.Model":
        """The backbone with ImageNet's weights, which Keras downloads."""
        from bakeoff.networks import inception_graph

        return inception_graph.of_imagenet(self)
