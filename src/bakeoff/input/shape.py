"""What a batch looks like and how many of them may wait."""

from dataclasses import dataclass, field

from bakeoff.input.view import View
from bakeoff.networks.network import Sampling


@dataclass(frozen=True)
class Shape:
    task: str
    size: int  # the network's input side, in pixels
    frames: int  # 1 for images
    batch_size: int
    decode_threads: int
    prefetch_batches: int
    several_labels: int = 0  # how many classes, if an example may have several of them; 0: each has one label
    central_crop: float = 1.0  # share of each side that is looked at outside training
    sampling: Sampling = field(default_factory=Sampling)

    @property
    def view(self) -> View:
        return View(self.size, self.frames, self.central_crop, self.sampling)
