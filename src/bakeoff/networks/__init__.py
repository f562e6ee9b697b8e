"""Hyper-parameters -> keras.Model. The settings here import no TensorFlow; their `build` does."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from bakeoff.networks.applications import EfficientNetV2B0, MobileNetV2, MobileNetV3
from bakeoff.networks.cnn import ClipCnn, Cnn
from bakeoff.networks.inception import InceptionV3
from bakeoff.networks.s3dg import S3dG
from bakeoff.networks.sampling import Sampling
from bakeoff.networks.ssd import Ssd
from bakeoff.networks.ssd_fpn import SsdFpn
from bakeoff.networks.ssd_multibox import SsdMultibox

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
    def central_crop(self) -> float:
        """Share of each side that is looked at outside training."""

    @property
    def sampling(self) -> Sampling:
        """Which frames of a clip."""

    @property
    def smallest_input(self) -> int:
        """The least `input_size` that leaves the coarsest of the network's own maps something to see."""

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """Groups of variables -> patterns (fnmatch) over `variable.path`: `backbone`, `neck`, `head`, finer `head.…`.

        Every variable is in one of the groups without a dot.
        """

    def build(self, num_classes: int) -> "keras.Model": ...


@runtime_checkable
class Pretrained(Protocol):
    """A network whose backbone Keras has trained weights for."""

    def imagenet(self) -> "keras.Model":
        """The backbone with ImageNet's weights, which Keras downloads; its layers are called as they are here."""


NETWORKS: dict[str, type[Network]] = {
    "ssd": Ssd,
    "ssd_multibox": SsdMultibox,
    "ssd_fpn": SsdFpn,
    "cnn": Cnn,
    "mobilenet_v2": MobileNetV2,
    "mobilenet_v3": MobileNetV3,
    "efficientnet_v2_b0": EfficientNetV2B0,
    "inception_v3": InceptionV3,
    "clip_cnn": ClipCnn,
    "s3dg": S3dG,
}
