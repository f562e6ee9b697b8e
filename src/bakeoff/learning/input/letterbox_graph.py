"""What letterbox.py does, in graphs, for batches; the boxes of an image in its square, and back."""

import tensorflow as tf

from bakeoff.learning.input.augment.scene import Scene
from bakeoff.learning.networks.letterbox import WINDOW

Tensors = dict[str, tf.Tensor]


def find_window(sides: tf.Tensor, size: int) -> tf.Tensor:
    """Return the square (..., 4) in shares of the image, of its height and width (..., 2)."""
    sides = tf.cast(sides, tf.int64)
    longest = tf.reduce_max(sides, axis=-1, keepdims=True)
    shown = tf.maximum((2 * sides * size + longest) // (2 * longest), 1)
    start = (size - shown) // 2
    ends, whole = tf.concat([-start, size - start], axis=-1), tf.concat([shown, shown], axis=-1)
    return tf.cast(ends, tf.float32) / tf.cast(whole, tf.float32)


def show_square(scene: Scene, size: int) -> Scene:
    """Return the square around a scene, with the scene's boxes in shares of it."""
    return scene.through(find_window(tf.round(scene.extent), size), min_seen=0.0)


def place_boxes(boxes: tf.Tensor, example: Tensors) -> tf.Tensor:
    """Return boxes (n, m, 4) of images as the network is shown them, in shares of its square."""
    if WINDOW not in example:
        return boxes
    low, sides = _split(example[WINDOW])
    return (boxes - low) / sides


def restore_boxes(predictions: Tensors, example: Tensors) -> Tensors:
    """Return a batch's predictions with boxes in shares of the image, where the image stands in a square.

    Boxes are cut to the image. Those that lie in the grey alone go, and what follows moves up.
    """
    if WINDOW not in example or "boxes" not in predictions:
        return predictions
    low, sides = _split(example[WINDOW])
    boxes = tf.clip_by_value(predictions["boxes"] * sides + low, 0.0, 1.0)
    is_real = tf.range(tf.shape(boxes)[1])[None] < predictions["count"][:, None]
    is_there = is_real & tf.reduce_all(boxes[..., 2:] > boxes[..., :2], axis=-1)
    order = tf.argsort(tf.cast(~is_there, tf.int32), stable=True)
    rows = predictions | {"boxes": tf.where(is_there[..., None], boxes, 0.0)}
    others = [name for name in ("scores", "classes", "spreads") if name in rows]
    rows |= {name: tf.where(is_there, rows[name], tf.zeros_like(rows[name])) for name in others}
    moved = {name: tf.gather(rows[name], order, batch_dims=1) for name in ("boxes", *others)}
    return rows | moved | {"count": tf.reduce_sum(tf.cast(is_there, tf.int32), axis=1)}


def _split(window: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the corner and the sides of windows (n, 4), (n, 1, 4) each."""
    low, high = tf.split(window[:, None], 2, axis=-1)
    return tf.concat([low, low], axis=-1), tf.concat([high - low, high - low], axis=-1)
