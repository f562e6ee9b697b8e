"""Record -> tf.Example, with the keys that the Object Detection API and Inception's reader expect.

Class ids are 1..k in label order; 0 is the background. A clip keeps its frames as JPEGs.
"""

import hashlib
from collections.abc import Iterable, Mapping

from bakeoff.records.record import Record
from bakeoff.records.wire import blobs, encode_features, floats, integers, texts

Features = dict[str, tuple[int, list[bytes]]]


def encode(record: Record, classes: Iterable[str]) -> bytes:
    """One record as a serialized tf.Example."""
    return encode_with(record, class_ids(classes))


def class_ids(classes: Iterable[str]) -> dict[str, int]:
    return {label: number for number, label in enumerate(classes, start=1)}


def encode_with(record: Record, ids: Mapping[str, int], sha256: str | None = None) -> bytes:
    """The same with what the caller knows already: the ids, and the digest of a single image."""
    features = _clip(record) if record.frames_per_second else _image(record, sha256)
    prefix = "image/object/class" if record.is_scene else "image/class"
    labels = [box.label for box in record.boxes] if record.is_scene else record.labels
    features[f"{prefix}/text"] = texts(labels)
    features[f"{prefix}/label"] = integers(ids[label] for label in labels)
    return encode_features(features)


def _image(record: Record, sha256: str | None) -> Features:
    [image] = record.frames
    features = _shape(record) | {
        "image/encoded": blobs([image]),
        "image/format": texts([record.format]),
        "image/key/sha256": texts([sha256 or hashlib.sha256(image).hexdigest()]),
        "image/colorspace": texts(["RGB"]),
        "image/channels": integers([3]),
    }
    if record.is_scene:
        for side in ("ymin", "xmin", "ymax", "xmax"):
            features[f"image/object/bbox/{side}"] = floats(getattr(box, side) for box in record.boxes)
    return features


def _clip(record: Record) -> Features:
    return _shape(record) | {
        "clip/frames": blobs(record.frames),
        "clip/format": texts([record.format]),
        "clip/frames_per_second": floats([record.frames_per_second]),
    }


def _shape(record: Record) -> Features:
    return {
        "image/height": integers([record.height]),
        "image/width": integers([record.width]),
        "image/filename": texts([record.name]),
        "image/source_id": texts([record.name]),
    }
