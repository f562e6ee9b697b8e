"""What random changes work on: the part of an image that is shown, with its boxes, and keys that name randomness.

Changes of geometry are drawn one after another, and no pixel moves until all of them are drawn: however many there
are, the image is resampled once. There is a key for every example of every epoch, under every seed.
"""

import zlib
from typing import NamedTuple

import tensorflow as tf

from bakeoff.foundation.tf_graph import share_graph
from bakeoff.learning.networks import boxes as geometry

WHOLE = (0.0, 0.0, 1.0, 1.0)
ROUNDING = 1e-4  # a box that lies on the edge of a crop may seem to reach beyond it by so much of its area


class Scene(NamedTuple):
    window: tf.Tensor  # (4,) ymin xmin ymax xmax in shares of the image, beyond 0..1 if more than it is shown
    extent: tf.Tensor  # (2,) height and width of the window in pixels of the image
    boxes: tf.Tensor  # (n, 4) in shares of the window, not cut to it
    classes: tf.Tensor  # (n,)

    def through(self, inner: tf.Tensor, min_seen: float | tf.Tensor) -> "Scene":
        """Only what is in `inner`, in shares of this window; without the boxes of which less than `min_seen` is."""
        return Scene(*_look_through(*self, inner, tf.convert_to_tensor(min_seen, tf.float32)))


@share_graph
def _look_through(
    window: tf.Tensor, extent: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor, inner: tf.Tensor, min_seen: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    low, shown = inner[:2], inner[2:] - inner[:2]
    moved = (boxes - tf.tile(low, [2])) / tf.tile(shown, [2])
    inside = geometry.area(tf.clip_by_value(moved, 0.0, 1.0))
    seen = tf.where((inside > 0) & (inside >= (min_seen - ROUNDING) * geometry.area(moved)))[:, 0]
    corner, size = window[:2], window[2:] - window[:2]
    shown_of_image = tf.concat([corner + low * size, corner + inner[2:] * size], axis=0)
    return shown_of_image, extent * shown, tf.gather(moved, seen), tf.gather(classes, seen)


def show_whole(size: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor) -> Scene:
    """Return all of an image of `size` (2,) pixels."""
    return Scene(tf.constant(WHOLE), tf.cast(size, tf.float32), boxes, classes)


def make_key(seed: int, *, epoch: tf.Tensor, example: tf.Tensor) -> tf.Tensor:
    """Return what names the randomness of one example in one epoch, (2,) int64."""
    return _fold(_fold(tf.constant([seed, 0], tf.int64), epoch), example)


def split_key(key: tf.Tensor, count: int) -> list[tf.Tensor]:
    """Return independent keys, (2,) each."""
    return tf.unstack(_draw_bits(key, count, 2), num=count)


def fold_name(key: tf.Tensor, name: str) -> tf.Tensor:
    """Return a key (2,) of this name's own, whatever other names there are."""
    return _fold(key, tf.constant(zlib.crc32(name.encode()), tf.int64))


def draw(key: tf.Tensor, *shape: int | tf.Tensor) -> tf.Tensor:
    """Return numbers evenly from 0 to 1."""
    return tf.raw_ops.StatelessRandomUniform(shape=_as_tensor(shape), seed=key)


def draw_number(key: tf.Tensor, end: int | tf.Tensor) -> tf.Tensor:
    """Return a whole number from 0 to `end` - 1."""
    return tf.raw_ops.StatelessRandomUniformInt(shape=_as_tensor(()), seed=key, minval=0, maxval=end)


def _fold(key: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    return tf.stack([_draw_bits(key), number])


# The raw operations draw with Philox on every device. Where `tf.random` is asked for Philox by its name, it makes the
# same numbers with dozens of operations.
def _draw_bits(key: tf.Tensor, *shape: int) -> tf.Tensor:
    return tf.raw_ops.StatelessRandomUniformFullInt(shape=_as_tensor(shape), seed=key, dtype=tf.int64)


def _as_tensor(shape: tuple[int | tf.Tensor, ...]) -> tf.Tensor:
    return tf.convert_to_tensor(shape, tf.int32)
