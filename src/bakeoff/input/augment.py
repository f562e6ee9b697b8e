"""Random changes of a training example: a crop or a zoom out that takes the boxes along, mirroring, colour.

Everything is drawn from a stateless generator keyed by (seed, epoch, example), so example 17 looks the
same in epoch 3 whatever the batch size, the number of threads or the step that a run resumed from. A clip
gets one change for all of its frames.
"""

from dataclasses import dataclass

from bakeoff.errors import require


@dataclass(frozen=True)
class Augment:
    """All off by default."""

    zoom_in: float = 1.0  # the smallest share of the image's side that a crop may keep
    zoom_out: float = 1.0  # the largest side, in image sides, of a canvas that the image may be put on
    stretch: float = 1.0  # the largest change of the aspect ratio
    mirror: float = 0.0  # probability; not for things that have a handedness, such as digits
    brightness: float = 0.0  # share of the full range, up or down
    contrast: float = 0.0  # factors from 1 - contrast to 1 + contrast
    saturation: float = 0.0  # likewise
    hue: float = 0.0  # share of the colour circle, either way

    def __post_init__(self) -> None:
        require(0.1 <= self.zoom_in <= 1, "zoom_in", self.zoom_in, "between 0.1 and 1")
        require(1 <= self.zoom_out <= 8, "zoom_out", self.zoom_out, "between 1 and 8")
        require(1 <= self.stretch <= 4, "stretch", self.stretch, "between 1 and 4")
        require(0 <= self.hue <= 0.5, "hue", self.hue, "between 0 and 0.5")
        for key in ("mirror", "brightness"):
            require(0 <= getattr(self, key) <= 1, key, getattr(self, key), "between 0 and 1")
        for key in ("contrast", "saturation"):
            require(0 <= getattr(self, key) < 1, key, getattr(self, key), "at least 0 and under 1")
