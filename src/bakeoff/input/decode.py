"""Serialized tf.Example -> example dict, at the network's input size.

detection       {"image": (size, size, 3) float32 0..255, "boxes": (n, 4) ymin xmin ymax xmax 0..1,
                 "classes": (n,) int64 1..k, "height": (), "width": ()}
classification  {"image": ..., "label": () int64 1..k}
video           {"image": (frames, size, size, 3), "label": ()}
"""

from collections.abc import Callable

import tensorflow as tf

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


def classification(data: tf.Tensor) -> Example:
    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }
    row = tf.io.parse_single_example(data, features)
    return {"image": _pixels(row["image/encoded"]), "label": row["image/class/label"]}


def video(data: tf.Tensor) -> Example:
    features = {
        "clip/frames": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }
    row = tf.io.parse_single_example(data, features)
    clip = tf.map_fn(_pixels, row["clip/frames"], fn_output_signature=tf.TensorSpec([None, None, 3], tf.uint8))
    return {"image": clip, "label": row["image/class/label"]}


DECODERS: dict[str, Callable[[tf.Tensor], Example]] = {
    "detection": detection,
    "classification": classification,
    "video": video,
}


def _pixels(encoded: tf.Tensor) -> tf.Tensor:
    return tf.io.decode_image(encoded, channels=3, expand_animations=False)
