"""Look at a part of the image or from farther away, and stretch it: evenly on a logarithmic scale."""

from dataclasses import dataclass

from bakeoff.errors import require

MIN_SEEN = 0.5  # a box of which less is seen is not asked for


@dataclass(frozen=True)
class Zoom:
    smallest: float = 1.0  # side of what is shown, in sides of the image
    largest: float = 1.0
    stretch: float = 1.0  # the largest change of the aspect ratio, either way

    def __post_init__(self) -> None:
        require(0.1 <= self.smallest <= 1, "smallest", self.smallest, "between 0.1 and 1")
        require(1 <= self.largest <= 8, "largest", self.largest, "between 1 and 8")
        require(1 <= self.stretch <= 4, "stretch", self.stretch, "between 1 and 4")

    @property
    def is_on(self) -> bool:
        return self != Zoom()
