"""Serialized tf.Example -> example dict with its image still encoded, and encoded images -> pixels.

detection       {"image": () JPEG or PNG, "size": (2,) int64 height and width, "boxes": (n, 4) ymin xmin ymax xmax 0..1,
                 "classes": (n,) int64 1..k, "height": (), "width": ()}
classification  {"image": ..., "size": ..., "label": () int64 1..k}
video           {"image": (frames,), "size": ..., "label": ()}

Where examples may have several labels, those two have {"labels": (k,) float32, 1 at each that it has} instead.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from bakeoff.foundation.tf_graph import share_graph
from bakeoff.learning.input.augment.scene import draw_number
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.network import Sampling

Example = dict[str, tf.Tensor]

RATIOS = (1, 2, 4, 8)  # of the sides of a JPEG to those that it is decoded at
SPARE = 1.5  # pixels a side that are left for each of the network's, so that it is resizing which makes the pixels
_SHAPE = {"image/height": tf.io.FixedLenFeature([], tf.int64), "image/width": tf.io.FixedLenFeature([], tf.int64)}
_SIDES = ("ymin", "xmin", "ymax", "xmax")
_IMAGE = {"image/encoded": tf.io.FixedLenFeature([], tf.string)}
_CLIP = {"clip/frames": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)}


def choose_parser(shape: Shape) -> Callable[[tf.Tensor], Example]:
    if shape.task == "detection":
        return parse_scene
    parse = {"classification": parse_image, "video": parse_clip}[shape.task]
    return partial(parse, several_labels=shape.several_labels)


def parse_scene(data: tf.Tensor) -> Example:
    features = {f"image/object/bbox/{side}": tf.io.VarLenFeature(tf.float32) for side in _SIDES}
    features["image/object/class/label"] = tf.io.VarLenFeature(tf.int64)
    row = tf.io.parse_single_example(data, features | _IMAGE | _SHAPE)
    corners = [tf.sparse.to_dense(row[f"image/object/bbox/{side}"]) for side in _SIDES]
    return {
        "image": row["image/encoded"],
        "size": _stack_size(row),
        "boxes": tf.stack(corners, axis=-1),
        "classes": tf.sparse.to_dense(row["image/object/class/label"]),
        "height": row["image/height"],
        "width": row["image/width"],
    }


def parse_image(data: tf.Tensor, several_labels: int = 0) -> Example:
    row = tf.io.parse_single_example(data, _IMAGE | _SHAPE | _describe_labels(several_labels))
    return {"image": row["image/encoded"], "size": _stack_size(row)} | _find_truth(row, several_labels)


def parse_clip(data: tf.Tensor, several_labels: int = 0) -> Example:
    row = tf.io.parse_single_example(data, _CLIP | _SHAPE | _describe_labels(several_labels))
    return {"image": row["clip/frames"], "size": _stack_size(row)} | _find_truth(row, several_labels)


def _stack_size(row: Example) -> tf.Tensor:
    return tf.stack([row["image/height"], row["image/width"]])


def _describe_labels(several_labels: int) -> dict[str, Any]:
    one = tf.io.FixedLenFeature([], tf.int64)
    return {"image/class/label": tf.io.VarLenFeature(tf.int64) if several_labels else one}


def _find_truth(row: Example, several_labels: int) -> Example:
    """Return one class id, or a vector that is 1 at the place of each id."""
    if not several_labels:
        return {"label": row["image/class/label"]}
    ids = tf.sparse.to_dense(row["image/class/label"])
    hits = tf.reduce_sum(tf.one_hot(ids - 1, several_labels), axis=0)
    return {"labels": tf.ensure_shape(tf.minimum(hits, 1.0), [several_labels])}


def choose_frames(
    sampling: Sampling, wanted: int, available: tf.Tensor, key: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the frames of a clip that a network is shown, (wanted,) numbers, and which of them are to be black.

    Without a key it is what is centred.
    """
    if sampling.cover == "whole":  # a shorter clip shows some twice
        last = tf.cast(available - 1, tf.float32)
        return tf.cast(tf.round(tf.linspace(0.0, last, wanted)), tf.int32), tf.zeros([wanted], tf.bool)
    room = tf.maximum(available - (wanted - 1) * sampling.stride - 1, 0)
    start = room // 2 if key is None or sampling.start == "centred" else draw_number(key, room + 1)
    numbers = start + sampling.stride * tf.range(wanted)
    inside = tf.minimum(numbers, available - 1)
    if sampling.short == "loop":
        return numbers % available, tf.zeros([wanted], tf.bool)
    return inside, (numbers > inside) & (sampling.short == "zeros")


def choose_ratio(encoded: tf.Tensor, extent: tf.Tensor, sides: tf.Tensor) -> tf.Tensor:
    """Return by how much, 1, 2, 4 or 8, the sides of a part of `extent` (2,) pixels shrink as it is decoded, int32.

    After that they are still `SPARE` times the `sides` (2,) that it is brought to. Only JPEGs can shrink so.
    """
    most = tf.cast(tf.reduce_min(extent / tf.cast(sides, tf.float32)) / SPARE, tf.int32)
    fits = tf.reduce_max(tf.where(most >= RATIOS, RATIOS, 1))
    return tf.where(tf.reduce_all(tf.io.is_jpeg(encoded)), fits, 1)


def decode_frames(encoded: tf.Tensor, bounds: tf.Tensor | None, ratio: tf.Tensor | None = None) -> tf.Tensor:
    """Of encoded frames (t,) all pixels, or those in `bounds` (4,) int32 top left height width: (t, h, w, 3) uint8.

    With a `ratio` other than 1 they are JPEGs whose sides shrink by it, rounded up, and `bounds` are of that image.
    """

    if encoded.shape[0] == 1:  # an image, which needs no loop
        return _decode_frame(encoded[0], bounds, ratio)[None]
    spec = tf.TensorSpec([None, None, 3], tf.uint8)
    return tf.map_fn(lambda frame: _decode_frame(frame, bounds, ratio), encoded, fn_output_signature=spec)


@share_graph
def _decode_frame(frame: tf.Tensor, bounds: tf.Tensor | None, ratio: tf.Tensor | None) -> tf.Tensor:
    ways = [lambda known=known: _decode(frame, bounds, known) for known in RATIOS]
    if ratio is None:
        return ways[0]()
    number = tf.reduce_sum(tf.cast(ratio >= RATIOS, tf.int32)) - 1
    return tf.ensure_shape(tf.switch_case(number, ways), [None, None, 3])


def _decode(encoded: tf.Tensor, bounds: tf.Tensor | None, ratio: int) -> tf.Tensor:
    if bounds is not None:
        return _decode_jpeg_part(encoded, bounds, ratio) if ratio > 1 else _decode_part(encoded, bounds)
    return tf.io.decode_jpeg(encoded, channels=3, ratio=ratio) if ratio > 1 else _decode_whole(encoded)


def _decode_whole(encoded: tf.Tensor) -> tf.Tensor:
    return tf.io.decode_image(encoded, channels=3, expand_animations=False)


def _decode_part(encoded: tf.Tensor, bounds: tf.Tensor) -> tf.Tensor:
    """Return the very pixels that the whole image has there; of a JPEG not all the others are computed."""
    top, left, height, width = tf.unstack(bounds, num=4)

    def cut() -> tf.Tensor:
        return _decode_whole(encoded)[top : top + height, left : left + width]

    pixels = tf.cond(tf.io.is_jpeg(encoded), lambda: _decode_jpeg_part(encoded, bounds), cut)
    return tf.ensure_shape(pixels, [None, None, 3])


def _decode_jpeg_part(encoded: tf.Tensor, bounds: tf.Tensor, ratio: int = 1) -> tf.Tensor:
    # Where colours are stored at half the size, the last column of a part is guessed without its neighbour.
    top, left, height, width = tf.unstack(bounds, num=4)
    columns = -(-tf.io.extract_jpeg_shape(encoded)[1] // ratio)
    first, end = tf.maximum(left - 1, 0), tf.minimum(left + width + 1, columns)
    window = tf.stack([top, first, height, end - first])
    part = tf.io.decode_and_crop_jpeg(encoded, window, channels=3, ratio=ratio)
    return part[:, left - first : left - first + width]
