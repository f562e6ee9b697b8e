"""Serialized tf.Example -> example dict, at the network's input size.

detection       {"image": (size, size, 3) float32 0..255, "boxes": (n, 4) ymin xmin ymax xmax 0..1,
                 "classes": (n,) int64 1..k, "height": (), "width": ()}
classification  {"image": ..., "label": () int64 1..k}
video           {"image": (frames, size, size, 3), "label": ()}

Where examples may have several labels, those two have {"labels": (k,) float32, 1 at each that it has} instead.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from bakeoff.input.shape import Shape

Example = dict[str, tf.Tensor]

_SHAPE = {"image/height": tf.io.FixedLenFeature([], tf.int64), "image/width": tf.io.FixedLenFeature([], tf.int64)}
_SIDES = ("ymin", "xmin", "ymax", "xmax")


def detection(data: tf.Tensor) -> Example:
    features = {f"image/object/bbox/{side}": tf.io.VarLenFeature(tf.float32) for side in _SIDES}
    features["image/object/class/label"] = tf.io.VarLenFeature(tf.int64)
    features["image/encoded"] = tf.io.FixedLenFeature([], tf.string)
    row = tf.io.parse_single_example(data, features | _SHAPE)
    corners = [tf.sparse.to_dense(row[f"image/object/bbox/{side}"]) for side in _SIDES]
    return {
        "image": _pixels(row["image/encoded"]),
        "boxes": tf.stack(corners, axis=-1),
        "classes": tf.sparse.to_dense(row["image/object/class/label"]),
        "height": row["image/height"],
        "width": row["image/width"],
    }


def classification(data: tf.Tensor, several_labels: int = 0) -> Example:
    row = tf.io.parse_single_example(
        data, {"image/encoded": tf.io.FixedLenFeature([], tf.string)} | _label_features(several_labels)
    )
    return {"image": _pixels(row["image/encoded"])} | _truth(row, several_labels)


def video(data: tf.Tensor, several_labels: int = 0) -> Example:
    frames = tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)
    row = tf.io.parse_single_example(data, {"clip/frames": frames} | _label_features(several_labels))
    clip = tf.map_fn(_pixels, row["clip/frames"], fn_output_signature=tf.TensorSpec([None, None, 3], tf.uint8))
    return {"image": clip} | _truth(row, several_labels)


def decoder(shape: Shape) -> Callable[[tf.Tensor], Example]:
    if shape.task == "detection":
        return detection
    return partial({"classification": classification, "video": video}[shape.task], several_labels=shape.several_labels)


def _label_features(several_labels: int) -> dict[str, Any]:
    one = tf.io.FixedLenFeature([], tf.int64)
    return {"image/class/label": tf.io.VarLenFeature(tf.int64) if several_labels else one}


def _truth(row: Example, several_labels: int) -> Example:
    """One class id, or a vector that is 1 at the place of each id."""
    if not several_labels:
        return {"label": row["image/class/label"]}
    ids = tf.sparse.to_dense(row["image/class/label"])
    hits = tf.reduce_sum(tf.one_hot(ids - 1, several_labels), axis=0)
    return {"labels": tf.ensure_shape(tf.minimum(hits, 1.0), [several_labels])}


def _pixels(encoded: tf.Tensor) -> tf.Tensor:
    return tf.io.decode_image(encoded, channels=3, expand_animations=False)
