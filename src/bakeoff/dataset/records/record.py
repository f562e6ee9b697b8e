"""One labelled image or clip, encoded, with its boxes or labels by name; and what it is as a tf.Example.

A detection record of the demo: one 176x168 JPEG named `train/000017`, with
`boxes=(Box(0.31, 0.12, 0.63, 0.38, "7"), ...)`; a clip has several frames and `labels=("left",)`.
Its keys are those that the Object Detection API and Inception's reader expect; class ids are 1..k, 0 is the background.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from bakeoff.dataset.records.wire import (
    Feature,
    decode_features,
    encode_blobs,
    encode_features,
    encode_floats,
    encode_integers,
    encode_texts,
)

SIDES = ("ymin", "xmin", "ymax", "xmax")
TRAIN, VALIDATION, TEST = "train", "validation", "test"
SEEN = (TRAIN, VALIDATION)  # the splits that training and the choice of a run see; all records have both
SPLITS = (*SEEN, TEST)
TAUGHT = "taught"  # what nobody labelled, and a teacher answers: it is trained on, and never judged on
RGB, THREE = encode_texts(["RGB"]), encode_integers([3])


@dataclass(frozen=True)
class Box:
    """Corners as shares of the image, 0..1."""

    ymin: float
    xmin: float
    ymax: float
    xmax: float
    label: str


@dataclass(frozen=True)
class Record:
    name: str
    frames: tuple[bytes, ...]  # encoded images; exactly one unless it is a clip
    height: int
    width: int
    boxes: tuple[Box, ...] = ()
    labels: tuple[str, ...] = ()
    format: str = "jpeg"
    frames_per_second: float = 0.0  # above 0 for clips

    @property
    def is_scene(self) -> bool:
        """An image with boxes or, on purpose, without any."""
        return not self.labels and not self.frames_per_second


class RecordSource(Protocol):
    """Records that are made, not read: a frozen dataclass whose fields are the settings of `conf/data/<name>.yaml`.

    Folders of files are another matter: `sources.dataset.Dataset`.
    """

    task: ClassVar[str]

    def classes(self) -> list[str]:
        """All labels, in the order that gives them the ids 1..k."""

    def count(self, split: str) -> int:
        """How many records the split has."""

    def records(self, split: str) -> Iterable[Record]:
        """The records of one split, in a fixed order."""


def number_classes(classes: Iterable[str]) -> dict[str, int]:
    """Return the id of each label."""
    return {label: number for number, label in enumerate(classes, start=1)}


def encode_record(record: Record, ids: Mapping[str, int], sha256: str | None = None) -> bytes:
    """Return the record as a serialized tf.Example. `sha256` is the digest of its one image, if it is known already."""
    name = encode_texts([record.name])
    features = {
        "image/height": encode_integers([record.height]),
        "image/width": encode_integers([record.width]),
        "image/filename": name,
        "image/source_id": name,
    } | (_encode_clip(record) if record.frames_per_second else _encode_image(record, sha256))
    prefix = "image/object/class" if record.is_scene else "image/class"
    labels = [box.label for box in record.boxes] if record.is_scene else record.labels
    features[f"{prefix}/text"] = encode_texts(labels)
    features[f"{prefix}/label"] = encode_integers(ids[label] for label in labels)
    return encode_features(features)


def _encode_image(record: Record, sha256: str | None) -> dict[str, Feature]:
    [image] = record.frames
    features = {
        "image/encoded": encode_blobs([image]),
        "image/format": encode_texts([record.format]),
        "image/key/sha256": encode_texts([sha256 or hashlib.sha256(image).hexdigest()]),
        "image/colorspace": RGB,
        "image/channels": THREE,
    }
    if record.is_scene:
        for side in SIDES:
            features[f"image/object/bbox/{side}"] = encode_floats(getattr(box, side) for box in record.boxes)
    return features


def _encode_clip(record: Record) -> dict[str, Feature]:
    return {
        "clip/frames": encode_blobs(record.frames),
        "clip/format": encode_texts([record.format]),
        "clip/frames_per_second": encode_floats([record.frames_per_second]),
    }


def find_misfit(data: bytes) -> str | None:
    """Return why bytes are no record as `encode_record` writes one; None if they are."""
    try:
        features = decode_features(data)
    except ValueError as error:
        return str(error)
    for key in ("image/height", "image/width"):
        sides = features.get(key, ())
        if len(sides) != 1 or not isinstance(sides[0], int) or sides[0] < 1:
            return f"must have one {key} above 0"
    frames = [*features.get("clip/frames", ()), *features.get("image/encoded", ())]
    if not frames or not all(isinstance(frame, bytes) for frame in frames):
        return "has no image"
    corners = [features.get(f"image/object/bbox/{side}", ()) for side in SIDES]
    labels = [features.get(f"image/{of}class/label", ()) for of in ("object/", "")]
    if len({len(labels[0]), *map(len, corners)}) > 1:
        return f"has {len(labels[0])} classes of boxes, and {', '.join(str(len(side)) for side in corners)} corners"
    if not all(isinstance(number, float) and 0 <= number <= 1 for side in corners for number in side):
        return "has a box that leaves the image"
    if not all(isinstance(number, int) and number > 0 for ids in labels for number in ids):
        return "has a class id that is none"
    return None
