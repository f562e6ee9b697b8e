"""Look at a part of the image or from farther away, and stretch it: evenly on a logarithmic scale."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.foundation.errors import require_between

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.scene import Scene

MIN_SEEN = 0.5  # a box of which less is seen is not asked for


@dataclass(frozen=True)
class Zoom:
    smallest: float = 1.0  # side of what is shown, in sides of the image
    largest: float = 1.0
    stretch: float = 1.0  # the largest change of the aspect ratio, either way

    def __post_init__(self) -> None:
        require_between(self, smallest=(0.1, 1), largest=(1, 8), stretch=(1, 4))

    @property
    def is_on(self) -> bool:
        return self != Zoom()

    @property
    def cuts(self) -> bool:
        return self.smallest < 1 or self.stretch > 1

    @property
    def shows_beyond(self) -> bool:
        return self.largest > 1 or self.stretch > 1

    def apply(self, scene: "Scene", key: "tf.Tensor") -> "Scene":
        return scene.through(self.draw_window(key), MIN_SEEN) if self.is_on else scene

    def draw_window(self, key: "tf.Tensor") -> "tf.Tensor":
        """Return `[ymin, xmin, ymax, xmax]` in shares; beyond 0..1 if it is seen from farther away."""
        import tensorflow as tf

        from bakeoff.learning.input.augment.scene import draw

        draws = draw(key, 4)
        low, high = tf.math.log(self.smallest), tf.math.log(self.largest)
        side = tf.exp(low + draws[0] * (high - low))
        ratio = tf.exp((2 * draws[1] - 1) * tf.math.log(self.stretch) / 2)
        shown = tf.stack([side / ratio, side * ratio])
        corner = draws[2:] * (1 - shown)  # negative if more than the image is shown
        return tf.concat([corner, corner + shown], axis=0)
