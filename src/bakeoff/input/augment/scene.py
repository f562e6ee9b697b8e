"""What part of an image is shown, and which of its boxes, while changes of its geometry are drawn one after another.

No pixel moves until all of them are drawn: however many there are, the image is resampled once.
"""

from typing import NamedTuple

import tensorflow as tf

from bakeoff.networks import boxes as geometry

WHOLE = (0.0, 0.0, 1.0, 1.0)
ROUNDING = 1e-4  # a box that lies on the edge of a crop may seem to reach beyond it by so much of its area


class Scene(NamedTuple):
    window: tf.Tensor  # (4,) ymin xmin ymax xmax in shares of the image, beyond 0..1 if more than it is shown
    extent: tf.Tensor  # (2,) height and width of the window in pixels of the image
    boxes: tf.Tensor  # (n, 4) in shares of the window, not cut to it
    classes: tf.Tensor  # (n,)

    def through(self, inner: tf.Tensor, min_seen: float | tf.Tensor) -> "Scene":
        """Only what is in `inner`, in shares of this window; without the boxes of which less than `min_seen` is."""
        low, shown = inner[:2], inner[2:] - inner[:2]
        moved = (self.boxes - tf.tile(low, [2])) / tf.tile(shown, [2])
        inside = geometry.area(tf.clip_by_value(moved, 0.0, 1.0))
        seen = (inside > 0) & (inside >= (min_seen - ROUNDING) * geometry.area(moved))
        corner, size = self.window[:2], self.window[2:] - self.window[:2]
        window = tf.concat([corner + low * size, corner + inner[2:] * size], axis=0)
        return Scene(window, self.extent * shown, moved[seen], self.classes[seen])


def whole(size: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor) -> Scene:
    """All of an image of `size` (2,) pixels."""
    return Scene(tf.constant(WHOLE), tf.cast(size, tf.float32), boxes, classes)
