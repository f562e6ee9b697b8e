"""Put the image on a larger canvas, as SSD's training does to see smaller objects."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.scene import Scene


@dataclass(frozen=True)
class Expand:
    cuts: ClassVar[bool] = False
    shows_beyond: ClassVar[bool] = True
    probability: float = 0.5
    smallest: float = 1.0  # side of the canvas, in sides of the image
    largest: float = 4.0
    keep_aspect: bool = True  # or each side of the canvas is drawn by itself

    def __post_init__(self) -> None:
        require(0 < self.probability <= 1, "probability", self.probability, "above 0, at most 1")
        require(1 <= self.smallest <= 16, "smallest", self.smallest, "between 1 and 16")
        least = self.smallest
        require(least <= self.largest <= 16, "largest", self.largest, f"between smallest ({least:g}) and 16")

    def apply(self, scene: "Scene", key: "tf.Tensor") -> "Scene":
        import tensorflow as tf

        from bakeoff.learning.input.augment.scene import WHOLE, draw

        draws = draw(key, 5)
        height = self.smallest + draws[0] * (self.largest - self.smallest)
        width = self.smallest + draws[1] * (self.largest - self.smallest)
        sides = tf.stack([height, height if self.keep_aspect else width])
        corner = draws[2:4] * (1 - sides)
        canvas = tf.concat([corner, corner + sides], axis=0)
        return scene.through(tf.where(draws[4] < self.probability, canvas, WHOLE), min_seen=0.0)
