"""Hyper-parameters -> keras.Model. The settings here import no TensorFlow; their `build` does."""

from typing import TYPE_CHECKING, ClassVar, Protocol

from bakeoff.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3
from bakeoff.networks.cnn import ClipCnn, Cnn
from bakeoff.networks.inception import InceptionV3
from bakeoff.networks.s3dg import S3dG
from bakeoff.networks.ssd import Ssd

if TYPE_CHECKING:
    import keras


class Network(Protocol):
    task: ClassVar[str]

    @property
    def input_size(self) -> int:
        """Pixels of a side."""

    @property
    def frames(self) -> int:
        """1 for images."""

    def build(self, num_classes: int) -> "keras.Model": ...


NETWORKS: dict[str, type[Network]] = {
    "ssd": Ssd,
    "cnn": Cnn,
    "mobilenet_v2": MobileNetV2,
    "mobilenet_v3": MobileNetV3,
    "efficientnet_v2_b0": EfficientNetV2B0,
    "inception_v3": InceptionV3,
    "clip_cnn": ClipCnn,
    "s3dg": S3dG,
}
