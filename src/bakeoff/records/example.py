"""Record -> tf.Example, with the keys that the Object Detection API and Inception's reader expect.

Class ids are 1..k in label order; 0 is the background. A clip keeps its frames as JPEGs.
"""

import hashlib
from collections.abc import Iterable, Sequence

import tensorflow as tf

from bakeoff.records.record import Record


def encode(record: Record, classes: Sequence[str]) -> bytes:
    """One record as a serialized tf.Example."""
    ids = {label: number for number, label in enumerate(classes, start=1)}
    features = _clip(record) if record.frames_per_second else _image(record)
    prefix = "image/class" if record.labels else "image/object/class"
    labels = record.labels or [box.label for box in record.boxes]
    features[f"{prefix}/text"] = _texts(labels)
    features[f"{prefix}/label"] = _integers(ids[label] for label in labels)
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(deterministic=True)


def _image(record: Record) -> dict[str, tf.train.Feature]:
    [image] = record.frames
    features = _shape(record) | {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "image/format": _texts([record.format]),
        "image/key/sha256": _texts([hashlib.sha256(image).hexdigest()]),
        "image/colorspace": _texts(["RGB"]),
        "image/channels": _integers([3]),
    }
    if not record.labels:
        for side in ("ymin", "xmin", "ymax", "xmax"):
            features[f"image/object/bbox/{side}"] = _floats(getattr(box, side) for box in record.boxes)
    return features


def _clip(record: Record) -> dict[str, tf.train.Feature]:
    return _shape(record) | {
        "clip/frames": tf.train.Feature(bytes_list=tf.train.BytesList(value=record.frames)),
        "clip/format": _texts([record.format]),
        "clip/frames_per_second": _floats([record.frames_per_second]),
    }


def _shape(record: Record) -> dict[str, tf.train.Feature]:
    return {
        "image/height": _integers([record.height]),
        "image/width": _integers([record.width]),
        "image/filename": _texts([record.name]),
        "image/source_id": _texts([record.name]),
    }


def _texts(values: Sequence[str]) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode() for value in values]))


def _integers(values: Iterable[int]) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=list(values)))


def _floats(values: Iterable[float]) -> tf.train.Feature:
    return tf.train.Feature(float_list=tf.train.FloatList(value=list(values)))
