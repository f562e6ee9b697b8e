"""What a network sees of an example outside training, and what a batch of them looks like."""

from dataclasses import dataclass, field

from bakeoff.networks.network import Network, Resizing, Sampling


@dataclass(frozen=True)
class View:
    size: int  # the network's input side, in pixels
    frames: int = 1  # 1 for images
    central_crop: float = 1.0  # share of each side that is looked at
    sampling: Sampling = field(default_factory=Sampling)
    resizing: Resizing = "smooth"

    @classmethod
    def of(cls, network: Network) -> "View":
        return cls(network.input_size, network.frames, network.central_crop, network.sampling, resizing_of(network))


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

    @property
    def view(self) -> View:
        return View(self.size, self.frames, self.central_crop, self.sampling, self.resizing)
