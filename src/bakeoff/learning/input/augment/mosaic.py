"""Put four examples around a point, as the training of YOLOv4 does (Bochkovskiy et al., 2020, arXiv:2004.10934).

Each is shown at a drawn share of the size that it has alone, with one corner at the point, and cut where its tile ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require, require_between

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.layer import DecodedExample, LazyExample


@dataclass(frozen=True)
class Mosaic:
    partners: ClassVar[int] = 3
    probability: float = 0.5
    smallest: float = 0.5  # size of an image in it, in sides of the picture
    largest: float = 1.0
    min_tile: float = 0.3  # the point is so far from each side, in sides of the picture
    min_seen: float = 0.4  # a box of which its tile shows less is not asked for

    def __post_init__(self) -> None:
        require(0 < self.probability <= 1, "probability", self.probability, "above 0, at most 1")
        require_between(self, smallest=(0.1, 2), min_tile=(0.1, 0.5), min_seen=(0, 1))
        least = self.smallest
        require(least <= self.largest <= 2, "largest", self.largest, f"between smallest ({least:g}) and 2")

    def compose(self, layers: "Sequence[LazyExample]", side: int, key: "tf.Tensor") -> "DecodedExample":
        """Return a picture of four: above left, above right, below left, below right."""
        import tensorflow as tf

        from bakeoff.learning.input.augment.layer import DecodedExample
        from bakeoff.learning.input.augment.scene import draw

        draws = draw(key, 6)
        point = tf.round(side * (self.min_tile + draws[:2] * (1 - 2 * self.min_tile)))  # (2,) down and right
        sizes = side * (self.smallest + draws[2:] * (self.largest - self.smallest))
        tiles, boxes, classes = [], [], []
        for number, layer in enumerate(layers):
            is_after = tf.constant(divmod(number, 2), tf.float32)  # whether it is below, right of the point
            low, high = is_after * point, point + is_after * (side - point)
            corner = point - (1 - is_after) * sizes[number]
            window = (tf.concat([low, high], axis=0) - tf.tile(corner, [2])) / sizes[number]
            scene = layer.scene.through(window, self.min_seen)
            tiles.append(layer.show_part(scene.window, tf.cast(high - low, tf.int32)))
            in_tile = tf.clip_by_value(scene.boxes, 0.0, 1.0)
            boxes.append((in_tile * tf.tile(high - low, [2]) + tf.tile(low, [2])) / side)
            classes.append(scene.classes)
        rows = [tf.concat(tiles[:2], axis=2), tf.concat(tiles[2:], axis=2)]
        image = tf.ensure_shape(tf.concat(rows, axis=1), [1, side, side, 3])
        return DecodedExample(image, tf.concat(boxes, axis=0), tf.concat(classes, axis=0))
