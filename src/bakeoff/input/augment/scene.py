"""What random changes work on: the part of an image that is shown, with its boxes, and keys that name randomness.

Changes of geometry are drawn one after another, and no pixel moves until all of them are drawn: however many there
are, the image is resampled once. There is a key for every example of every epoch, under every seed.
"""

from typing import NamedTuple

import tensorflow as tf

from bakeoff.networks import boxes as geometry

PHILOX = "philox"  # named, because the default generator is another one on some devices
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


def show_whole(size: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor) -> Scene:
    """Return all of an image of `size` (2,) pixels."""
    return Scene(tf.constant(WHOLE), tf.cast(size, tf.float32), boxes, classes)


def make_key(seed: int, *, epoch: tf.Tensor, example: tf.Tensor) -> tf.Tensor:
    """Return what names the randomness of one example in one epoch, (2,) int64."""
    of_epoch = tf.random.fold_in(tf.constant([seed, 0], tf.int64), epoch, alg=PHILOX)
    return tf.random.fold_in(of_epoch, example, alg=PHILOX)


def split_key(key: tf.Tensor, count: int) -> list[tf.Tensor]:
    """Return independent keys, (2,) each."""
    return tf.unstack(tf.random.split(key, count, alg=PHILOX), num=count)


def draw(key: tf.Tensor, *shape: int) -> tf.Tensor:
    """Return numbers evenly from 0 to 1."""
    return tf.random.stateless_uniform(shape, key, alg=PHILOX)


def draw_number(key: tf.Tensor, end: int | tf.Tensor) -> tf.Tensor:
    """Return a whole number from 0 to `end` - 1."""
    return tf.random.stateless_uniform([], key, 0, end, tf.int32, alg=PHILOX)
