"""What a network sees of an example, outside training: how large, how much of it, which frames."""

from dataclasses import dataclass, field

from bakeoff.networks.network import Network, Sampling


@dataclass(frozen=True)
class View:
    size: int  # the network's input side, in pixels
    frames: int = 1  # 1 for images
    central_crop: float = 1.0  # share of each side that is looked at
    sampling: Sampling = field(default_factory=Sampling)

    @classmethod
    def of(cls, network: Network) -> "View":
        return cls(network.input_size, network.frames, network.central_crop, network.sampling)
