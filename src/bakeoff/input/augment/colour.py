"""Change brightness, contrast, saturation and hue, or take the colour away.

Without `orders` the four are one linear map of colours, done in one pass over the pixels: contrast around mid-grey,
saturation and hue around the grey axis. With `orders` they are TensorFlow's own operations, one after another in an
order drawn for each example, as Inception's training has them: contrast around the image's average, saturation and
hue of the HSV cone.
"""

from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require

Step = Literal["brightness", "contrast", "saturation", "hue"]
STEPS: frozenset[Step] = frozenset({"brightness", "contrast", "saturation", "hue"})


@dataclass(frozen=True)
class Colour:
    brightness: float = 0.0  # share of the full range, up or down
    contrast: float = 0.0  # factors from 1 - contrast to 1 + contrast
    saturation: float = 0.0  # likewise
    hue: float = 0.0  # share of the colour circle, either way
    grey: float = 0.0  # probability
    orders: tuple[tuple[Step, ...], ...] = ()  # of the four steps; one order is drawn

    def __post_init__(self) -> None:
        require(0 <= self.hue <= 0.5, "hue", self.hue, "between 0 and 0.5")
        for key in ("brightness", "grey"):
            require(0 <= getattr(self, key) <= 1, key, getattr(self, key), "between 0 and 1")
        for key in ("contrast", "saturation"):
            require(0 <= getattr(self, key) < 1, key, getattr(self, key), "at least 0 and under 1")
        whole = all(len(order) == len(STEPS) and set(order) == STEPS for order in self.orders)
        given = [list(order) for order in self.orders]
        require(whole, "orders", given, "lists that each name brightness, contrast, saturation and hue once")

    @property
    def changes_colours(self) -> bool:
        return bool(self.brightness or self.contrast or self.saturation or self.hue)
