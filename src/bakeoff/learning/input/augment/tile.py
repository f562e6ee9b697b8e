"""Show a part of the picture that is as large as a tile of `model.tiles`, in training, where evaluation shows them all.

It comes before the changes of `train.augment`. So no pixel beside the tile is decoded, unless one of them shows more.
"""

from typing import TYPE_CHECKING

from bakeoff.learning.networks.tiles import PARTS_OF_OVERLAP, Tiles

if TYPE_CHECKING:
    import tensorflow as tf

    from bakeoff.learning.input.augment.scene import Scene


def show_tile(scene: "Scene", tiles: Tiles, key: "tf.Tensor") -> "Scene":
    """Return what a tile at a drawn place shows of a whole picture, or, by `whole_share`, the picture itself.

    In `object_share` of the tiles one of the boxes is drawn, and the tile shows all of it; of a box larger than a tile,
    a part. A box of which the tile shows less than `min_seen` goes.
    """
    import tensorflow as tf

    from bakeoff.learning.input.augment.scene import WHOLE, draw, draw_number, split_key

    of_kind, of_box, *of_places = split_key(key, 4)
    kinds = draw(of_kind, 2)
    extent = tf.cast(tf.round(scene.extent), tf.int32)
    count = tf.size(scene.classes)
    has_object = (kinds[0] < tiles.object_share) & (count > 0)
    chosen = draw_number(of_box, tf.maximum(count, 1))
    box = tf.concat([scene.boxes, [WHOLE]], axis=0)[tf.where(count > 0, chosen, 0)] * tf.tile(scene.extent, [2])
    starts, ends = [], []
    for axis, of_place in enumerate(of_places):
        side = _side(extent[axis], tiles, axis)
        first, last = tf.constant(0), extent[axis] - side
        low, high = tf.floor(box[axis]), tf.math.ceil(box[2 + axis])
        around = tf.cast(tf.stack([high, low]), tf.int32) - tf.stack([side, 0])
        around = tf.sort(tf.clip_by_value(around, first, last))
        first, last = tf.where(has_object, around[0], first), tf.where(has_object, around[1], last)
        starts.append(first + draw_number(of_place, last - first + 1))
        ends.append(starts[-1] + side)
    window = tf.cast(tf.stack(starts + ends), tf.float32) / tf.tile(scene.extent, [2])
    is_whole = tf.constant(tiles.whole) & (kinds[1] < tiles.whole_share)
    return scene.through(tf.where(is_whole, WHOLE, window), tf.where(is_whole, 0.0, tiles.min_seen))


def _side(extent: "tf.Tensor", tiles: Tiles, axis: int) -> "tf.Tensor":
    """Return what `Tiles.side` does, in a graph."""
    import tensorflow as tf

    if tiles.size is not None:
        return tf.minimum(tiles.size, extent)
    parts = -(-PARTS_OF_OVERLAP * tf.cast(extent, tf.int64) // tiles.divisor(axis))
    return tf.minimum(extent, tf.cast(parts, tf.int32))
