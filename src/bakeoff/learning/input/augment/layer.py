"""What mixing works on: pictures that are there, and layers, of which no pixel is decoded before it is shown."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from bakeoff.learning.input.augment.scene import Scene


class DecodedExample(NamedTuple):
    image: tf.Tensor  # (1, side, side, 3) float32, 0..255
    boxes: tf.Tensor  # (n, 4) in shares of the picture, inside it
    classes: tf.Tensor  # (n,)

    def beside(self, other: "DecodedExample", image: tf.Tensor) -> "DecodedExample":
        """Return a picture with the objects of both."""
        boxes, classes = zip(self[1:], other[1:], strict=True)
        return DecodedExample(image, tf.concat(boxes, axis=0), tf.concat(classes, axis=0))


class LazyExample(NamedTuple):
    """An example whose changes of geometry are drawn."""

    scene: Scene
    show: Callable[[], DecodedExample]  # all of the scene, at the network's size
    show_part: Callable[
        [tf.Tensor, tf.Tensor], tf.Tensor
    ]  # a window of the image (4,), height and width (2,) -> pixels
