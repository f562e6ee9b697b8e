"""Put four examples around a point, as the training of YOLOv4 does (Bochkovskiy et al., 2020, arXiv:2004.10934).

Each is shown at a drawn share of the size that it has alone, with one corner at the point, and cut where its tile ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bakeoff.foundation.errors import require, require_between

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.layer import DecodedExample, LazyExample

    State = tuple[tf.Tensor, tf.TensorArray, tf.TensorArray, tf.TensorArray]


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

    def compose(self, load: "Callable[[tf.Tensor], LazyExample]", side: int, key: "tf.Tensor") -> "DecodedExample":
        """Return a picture of the layers 0 to 3: above left, above right, below left, below right.

        They are shown one after the other, so that the graph of it is there once.
        """
        import tensorflow as tf

        from bakeoff.learning.input.augment.layer import DecodedExample
        from bakeoff.learning.input.augment.scene import draw

        draws = draw(key, 6)
        point = tf.round(side * (self.min_tile + draws[:2] * (1 - 2 * self.min_tile)))  # (2,) down and right
        sizes = side * (self.smallest + draws[2:] * (self.largest - self.smallest))
        all_after = tf.constant([[0, 0], [0, 1], [1, 0], [1, 1]], tf.float32)  # whether it is below, right of the point

        def show(number: tf.Tensor, tiles: tf.TensorArray, boxes: tf.TensorArray, classes: tf.TensorArray) -> "State":
            layer, is_after = load(number), all_after[number]
            low, high = is_after * point, point + is_after * (side - point)
            corner = point - (1 - is_after) * sizes[number]
            window = (tf.concat([low, high], axis=0) - tf.tile(corner, [2])) / sizes[number]
            scene = layer.scene.through(window, self.min_seen)
            tile = layer.show_part(scene.window, tf.cast(high - low, tf.int32))
            in_tile = tf.clip_by_value(scene.boxes, 0.0, 1.0)
            in_picture = (in_tile * tf.tile(high - low, [2]) + tf.tile(low, [2])) / side
            lists = zip((tiles, boxes, classes), (tile, in_picture, scene.classes), strict=True)
            return number + 1, *(all_before.write(number, one) for all_before, one in lists)

        kinds = ((tf.float32, [1, None, None, 3]), (tf.float32, [None, 4]), (tf.int64, [None]))
        lists = [tf.TensorArray(dtype, 4, element_shape=shape, infer_shape=False) for dtype, shape in kinds]
        _, tiles, boxes, classes = tf.while_loop(
            lambda number, *_: number < 4, show, [0, *lists], parallel_iterations=1
        )
        rows = [tf.concat([tiles.read(first), tiles.read(first + 1)], axis=2) for first in (0, 2)]
        image = tf.ensure_shape(tf.concat(rows, axis=1), [1, side, side, 3])
        return DecodedExample(image, boxes.concat(), classes.concat())
