"""What a network sees of an example outside training, and what a batch of them looks like."""

from dataclasses import asdict, dataclass, field
from typing import Any

from bakeoff.learning.networks.letterbox import fit_of
from bakeoff.learning.networks.network import Fit, Network, Resizing, Sampling
from bakeoff.learning.networks.tiles import Tiles, tiles_of


@dataclass(frozen=True)
class View:
    size: int  # the network's input side, in pixels
    frames: int = 1  # 1 for images
    central_crop: float = 1.0  # share of each side that is looked at
    sampling: Sampling = field(default_factory=Sampling)
    resizing: Resizing = "smooth"
    tiles: Tiles | None = None  # the parts of a picture that are looked at; None: all of it at once
    fit: Fit = "stretch"  # how what is looked at is brought into the square

    @classmethod
    def of(cls, network: Network) -> "View":
        sees = (network.input_size, network.frames, network.central_crop, network.sampling)
        return cls(*sees, resizing_of(network), tiles_of(network), fit_of(network))

    def as_tree(self) -> dict[str, Any]:
        """Return what exported files tell of it; of tiles and a letterbox only where there is one."""
        usual = {"tiles": None, "fit": "stretch"}
        return {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}


def resizing_of(network: Network) -> Resizing:
    """Return how a network's images are resized; one that states nothing is shown every pixel."""
    return getattr(network, "resizing", "smooth")


@dataclass(frozen=True)
class Shape:
    task: str
    size: int  # the network's input side, in pixels
    frames: int  # 1 for images
    batch_size: int
    decode_threads: int
    prefetch_batches: int  # so many may wait
    several_labels: int = 0  # how many classes, if an example may have several of them; 0: each has one label
    central_crop: float = 1.0  # share of each side that is looked at outside training
    sampling: Sampling = field(default_factory=Sampling)
    resizing: Resizing = "smooth"
    tiles: Tiles | None = None  # then a batch of evaluation is one picture, and `batch_size` tiles go at once
    fit: Fit = "stretch"  # how what is looked at is brought into the square

    @property
    def view(self) -> View:
        sees = (self.size, self.frames, self.central_crop, self.sampling)
        return View(*sees, self.resizing, self.tiles, self.fit)
