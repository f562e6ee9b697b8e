"""Hyper-parameters -> keras.Model. The settings here import no TensorFlow; their `build` does."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from bakeoff.networks.cnn import ClipCnn, Cnn
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
    def smallest_input(self) -> int:
        """The least `input_size` that leaves the coarsest of the network's own maps something to see."""

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """Groups of variables -> patterns (fnmatch) over `variable.path`: `backbone`, `neck`, `head`, finer `head.…`.

        Every variable is in one of the groups without a dot.
        """

    def build(self, num_classes: int) -> "keras.Model": ...


NETWORKS: dict[str, type[Network]] = {
    "ssd": Ssd,
    "ssd_multibox": SsdMultibox,
    "ssd_fpn": SsdFpn,
    "cnn": Cnn,
    "clip_cnn": ClipCnn,
}
