"""Hyper-parameters -> keras.Model. The settings here import no TensorFlow; their `build` does."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from bakeoff.networks.cnn import ClipCnn, Cnn
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

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """Names of parts, each with patterns over variable paths."""

    def build(self, num_classes: int) -> "keras.Model": ...


@runtime_checkable
class Pretrained(Protocol):
    """A network whose backbone Keras has trained weights for."""

    def imagenet(self) -> "keras.Model":
        """The backbone with ImageNet's weights, which Keras downloads; its layers are called as they are here."""


NETWORKS: dict[str, type[Network]] = {"ssd": Ssd, "cnn": Cnn, "clip_cnn": ClipCnn}
