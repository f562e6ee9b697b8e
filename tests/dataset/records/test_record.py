"""One record as a tf.Example, read as other programs read it."""

import hashlib
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.record import Box, Record, encode_record, number_classes
from support.imports import ROOT

IDS = {"cat": 1, "dog": 2, "emu": 3}
SCENE = Record(
    "train/000017",
    (b"\xff\xd8 pixels",),
    height=60,
    width=80,
    boxes=(Box(0.125, 0.25, 0.5, 0.75, "dog"), Box(0.0, 0.5, 1.0, 1.0, "cat")),
)
PICTURE = Record("train/000003", (b"\xff\xd8 one",), height=48, width=32, labels=("emu",))
CLIP = Record(
    "train/000004", (b"first", b"", b"third"), height=16, width=24, labels=("dog",), frames_per_second=12.5
)  # fmt: skip

# What the Object Detection API's TfExampleDecoder asks of an example.
DETECTION_API = {
    "image/encoded": tf.io.FixedLenFeature((), tf.string, default_value=""),
    "image/format": tf.io.FixedLenFeature((), tf.string, default_value="jpeg"),
    "image/filename": tf.io.FixedLenFeature((), tf.string, default_value=""),
    "image/key/sha256": tf.io.FixedLenFeature((), tf.string, default_value=""),
    "image/source_id": tf.io.FixedLenFeature((), tf.string, default_value=""),
    "image/height": tf.io.FixedLenFeature((), tf.int64, default_value=1),
    "image/width": tf.io.FixedLenFeature((), tf.int64, default_value=1),
    "image/object/bbox/xmin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/xmax": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymin": tf.io.VarLenFeature(tf.float32),
    "image/object/bbox/ymax": tf.io.VarLenFeature(tf.float32),
    "image/object/class/label": tf.io.VarLenFeature(tf.int64),
    "image/object/class/text": tf.io.VarLenFeature(tf.string),
}

# What Inception's parse_example_proto asks, and the other keys that its build_image_data writes.
INCEPTION = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "image/class/label": tf.io.FixedLenFeature([1], tf.int64, default_value=-1),
    "image/class/text": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "image/object/bbox/xmin": tf.io.VarLenFeature(tf.float32),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "image/colorspace": tf.io.FixedLenFeature([], tf.string),
    "image/channels": tf.io.FixedLenFeature([], tf.int64),
    "image/format": tf.io.FixedLenFeature([], tf.string),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
}


def parsed(data: bytes, features: dict[str, Any]) -> dict[str, Any]:
    """The features as Python values."""
    row = tf.io.parse_single_example(data, features)
    dense = {key: tf.sparse.to_dense(it) if isinstance(it, tf.SparseTensor) else it for key, it in row.items()}
    return {key: np.asarray(value.numpy()).tolist() for key, value in dense.items()}


def test_detection_api_reads_every_field_of_a_scene() -> None:
    assert parsed(encode_record(SCENE, IDS), DETECTION_API) == {
        "image/encoded": b"\xff\xd8 pixels",
        "image/format": b"jpeg",
        "image/filename": b"train/000017",
        "image/key/sha256": hashlib.sha256(b"\xff\xd8 pixels").hexdigest().encode(),
        "image/source_id": b"train/000017",
        "image/height": 60,
        "image/width": 80,
        "image/object/bbox/ymin": [0.125, 0.0],
        "image/object/bbox/xmin": [0.25, 0.5],
        "image/object/bbox/ymax": [0.5, 1.0],
        "image/object/bbox/xmax": [0.75, 1.0],
        "image/object/class/label": [2, 1],
        "image/object/class/text": [b"dog", b"cat"],
    }


def test_scene_without_boxes_has_empty_lists_and_no_class_of_its_own() -> None:
    data = encode_record(replace(SCENE, boxes=()), IDS)
    row = parsed(data, DETECTION_API)
    assert [row[key] for key in row if key.startswith("image/object")] == [[]] * 6
    assert not any(key.startswith("image/class") for key in tf.train.Example.FromString(data).features.feature)


def test_inception_reads_every_field_of_a_picture() -> None:
    assert parsed(encode_record(PICTURE, IDS), INCEPTION) == {
        "image/encoded": b"\xff\xd8 one",
        "image/class/label": [3],
        "image/class/text": b"emu",
        "image/object/bbox/xmin": [],
        "image/height": 48,
        "image/width": 32,
        "image/colorspace": b"RGB",
        "image/channels": 3,
        "image/format": b"jpeg",
        "image/filename": b"train/000003",
    }


def test_clip_keeps_its_frames_in_order_also_an_empty_one() -> None:
    features = {
        "clip/frames": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        "clip/format": tf.io.FixedLenFeature([], tf.string),
        "clip/frames_per_second": tf.io.FixedLenFeature([], tf.float32),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        "image/class/text": tf.io.FixedLenFeature([], tf.string),
        "image/height": tf.io.FixedLenFeature([], tf.int64),
        "image/width": tf.io.FixedLenFeature([], tf.int64),
        "image/filename": tf.io.FixedLenFeature([], tf.string),
    }
    assert parsed(encode_record(CLIP, IDS), features) == {
        "clip/frames": [b"first", b"", b"third"],
        "clip/format": b"jpeg",
        "clip/frames_per_second": 12.5,
        "image/class/label": 2,
        "image/class/text": b"dog",
        "image/height": 16,
        "image/width": 24,
        "image/filename": b"train/000004",
    }


def test_classes_are_numbered_from_one_in_their_order() -> None:
    assert number_classes(("cat", "dog", "emu")) == IDS


def test_labels_outside_ascii_are_stored_as_utf_8() -> None:
    data = encode_record(replace(PICTURE, labels=("œuf",)), {"œuf": 1})
    assert parsed(data, INCEPTION)["image/class/text"] == "œuf".encode()


@pytest.mark.parametrize(("task", "record"), [("Detection", SCENE), ("Classification", PICTURE), ("Video", CLIP)])
def test_the_reference_has_each_key_with_its_dtype_as_tensorflow_reads_it(task: str, record: Record) -> None:
    page = (ROOT / "docs/reference/records.md").read_text(encoding="utf-8")
    [section] = re.findall(rf"^## {task}\n(.*?)(?=^## )", page, re.DOTALL | re.MULTILINE)
    lists = {"bytes_list": "bytes", "float_list": "float32", "int64_list": "int64"}
    features = tf.train.Example.FromString(encode_record(record, IDS)).features.feature
    dtypes = {key: lists[feature.WhichOneof("kind")] for key, feature in features.items()}
    assert dict(re.findall(r"^\| `(\S+)` \| (\w+) \|", section, re.MULTILINE)) == dtypes
