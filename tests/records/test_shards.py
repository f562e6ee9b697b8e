"""Examples, shards with their indexes, label files, and the manifest."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from bakeoff.building import made
from bakeoff.building.made import write_split
from bakeoff.errors import DataError
from bakeoff.records.example import encode
from bakeoff.records.manifest import Manifest, Shard, Split, read_manifest
from bakeoff.records.record import TRAIN, VALIDATION, Box, Record
from bakeoff.records.shards import write_labels

CLASSES = ("cat", "dog", "emu")
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


# One example.


def test_detection_api_reads_every_field_of_a_scene() -> None:
    assert parsed(encode(SCENE, CLASSES), DETECTION_API) == {
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
    data = encode(replace(SCENE, boxes=()), CLASSES)
    row = parsed(data, DETECTION_API)
    assert [row[key] for key in row if key.startswith("image/object")] == [[]] * 6
    assert not any(key.startswith("image/class") for key in tf.train.Example.FromString(data).features.feature)


def test_inception_reads_every_field_of_a_picture() -> None:
    assert parsed(encode(PICTURE, CLASSES), INCEPTION) == {
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
    assert parsed(encode(CLIP, CLASSES), features) == {
        "clip/frames": [b"first", b"", b"third"],
        "clip/format": b"jpeg",
        "clip/frames_per_second": 12.5,
        "image/class/label": 2,
        "image/class/text": b"dog",
        "image/height": 16,
        "image/width": 24,
        "image/filename": b"train/000004",
    }


def test_labels_outside_ascii_are_stored_as_utf_8() -> None:
    data = encode(replace(PICTURE, labels=("œuf",)), ["œuf"])
    assert parsed(data, INCEPTION)["image/class/text"] == "œuf".encode()


# One split.


@dataclass(frozen=True)
class Numbered:
    """Pictures of different lengths, some of two classes, none of the third."""

    task: ClassVar[str] = "classification"
    pictures: int

    def classes(self) -> list[str]:
        return list(CLASSES)

    def count(self, split: str) -> int:
        return self.pictures

    def records(self, split: str) -> Iterator[Record]:
        for number in range(self.pictures):
            label = "dog" if number % 3 else "cat"
            yield Record(f"{split}/{number}", (bytes(range(number * 7)),), 10, 20, labels=(label,))


@pytest.fixture
def four_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "EXAMPLES_PER_SHARD", 4)


def stored(folder: Path, split: Split) -> list[list[bytes]]:
    """The serialized examples of each shard, as TensorFlow reads them."""
    return [[data.numpy() for data in tf.data.TFRecordDataset(str(folder / shard.file))] for shard in split.shards]


def test_shards_hold_every_record_once_in_order(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path, lambda: None)
    expected = [encode(record, CLASSES) for record in Numbered(10).records(TRAIN)]
    assert [data for shard in stored(tmp_path, split) for data in shard] == expected


@pytest.mark.parametrize(
    ("pictures", "sizes"), [(1, [1]), (4, [4]), (5, [2, 3]), (10, [3, 3, 4]), (12, [4, 4, 4]), (13, [3, 3, 3, 4])]
)
def test_shards_are_of_nearly_equal_length(pictures: int, sizes: list[int], four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(pictures), VALIDATION, tmp_path, lambda: None)
    assert [len(shard) for shard in stored(tmp_path, split)] == sizes == [shard.examples for shard in split.shards]
    count = len(sizes)
    assert [shard.file for shard in split.shards] == [f"validation-{n:05d}-of-{count:05d}" for n in range(count)]


def test_index_finds_each_record_without_the_ones_before(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path, lambda: None)
    for shard, expected in zip(split.shards, stored(tmp_path, split), strict=True):
        index = np.load(tmp_path / f"index-{shard.file}.npy")
        content = (tmp_path / shard.file).read_bytes()
        assert [content[offset : offset + length] for offset, length in index] == expected
        assert index.dtype == np.int64


def test_readers_that_take_every_file_of_a_split_find_shards_only(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path, lambda: None)
    assert sorted(path.name for path in tmp_path.glob("train-*")) == [shard.file for shard in split.shards]


def test_split_counts_what_it_holds(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path, lambda: None)
    assert (split.examples, split.frames, split.decoded_bytes) == (10, 1, 10 * 10 * 20 * 3)
    assert split.counts == {"cat": 4, "dog": 6, "emu": 0} and list(split.counts) == list(CLASSES)


def test_shards_are_named_by_size_and_digest_of_their_files(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path, lambda: None)
    for shard in split.shards:
        content = (tmp_path / shard.file).read_bytes()
        assert (shard.bytes, shard.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_boxes_are_counted_by_class_and_clips_by_their_longest(
    write_train: Callable[..., Split], tmp_path: Path
) -> None:
    scenes = write_train([SCENE, replace(SCENE, boxes=()), SCENE], CLASSES)
    assert scenes.counts == {"cat": 2, "dog": 2, "emu": 0}
    clips = write_train([CLIP, replace(CLIP, frames=(b"only",))], CLASSES)
    assert (clips.frames, clips.decoded_bytes) == (3, (3 + 1) * 16 * 24 * 3)


def test_each_record_is_reported_when_it_is_written(tmp_path: Path) -> None:
    calls: list[None] = []
    write_split(Numbered(5), TRAIN, tmp_path, lambda: calls.append(None))
    assert len(calls) == 5


def test_same_records_give_the_same_files(four_a_shard: None, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    assert write_split(Numbered(9), TRAIN, tmp_path / "a", int) == write_split(Numbered(9), TRAIN, tmp_path / "b", int)


# Label files.


def read_label_map(path: Path) -> list[tuple[int, str]]:
    """Parsed as the Object Detection API does, with its StringIntLabelMap message made here."""
    file = descriptor_pb2.FileDescriptorProto(name="label_map.proto", package="od")
    item = file.message_type.add(name="Item")
    Field = descriptor_pb2.FieldDescriptorProto
    item.field.add(name="name", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    item.field.add(name="id", number=2, type=Field.TYPE_INT32, label=Field.LABEL_OPTIONAL)
    file.message_type.add(name="Map").field.add(
        name="item", number=1, type=Field.TYPE_MESSAGE, type_name=".od.Item", label=Field.LABEL_REPEATED
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("od.Map"))()
    text_format.Parse(path.read_text(encoding="utf-8"), message)
    return [(item.id, item.name) for item in message.item]


def test_label_files_name_the_classes_in_order_with_ids_from_one(tmp_path: Path) -> None:
    write_labels(CLASSES, tmp_path)
    assert (tmp_path / "labels.txt").read_text() == "cat\ndog\nemu\n"
    assert read_label_map(tmp_path / "label_map.pbtxt") == [(1, "cat"), (2, "dog"), (3, "emu")]
    assert (tmp_path / "label_map.pbtxt").read_text().startswith("item {\n  id: 1\n  name: 'cat'\n}\n")


@pytest.mark.parametrize("label", ["driver's", "'", 'the "big" one', "back\\slash", "\\'", "\\n", "a\nb", "œuf", "{}"])
def test_label_map_quotes_what_the_format_gives_a_meaning(label: str, tmp_path: Path) -> None:
    write_labels(["first", label, "last"], tmp_path)
    assert read_label_map(tmp_path / "label_map.pbtxt") == [(1, "first"), (2, label), (3, "last")]


# The manifest.


def shard(split: str, content: str, examples: int = 2) -> Shard:
    return Shard(f"{split}-00000-of-00001", examples, 100, hashlib.sha256(content.encode()).hexdigest())


def split_of(*shards: Shard) -> Split:
    examples = sum(shard.examples for shard in shards)
    return Split(examples, 1200, 1, {"cat": 1, "dog": examples - 1}, shards)


MANIFEST = Manifest(
    "detection", ("cat", "dog"), {TRAIN: split_of(shard(TRAIN, "a")), VALIDATION: split_of(shard(VALIDATION, "b"))}
)


def test_manifest_reads_back_as_it_was_written(tmp_path: Path) -> None:
    MANIFEST.write(tmp_path)
    assert read_manifest(tmp_path) == MANIFEST
    assert json.loads((tmp_path / "manifest.json").read_text())["digest"] == MANIFEST.digest


def test_manifests_of_the_same_content_have_the_same_digest() -> None:
    assert replace(MANIFEST, splits=dict(MANIFEST.splits)).digest == MANIFEST.digest


@pytest.mark.parametrize(
    "other",
    [
        replace(MANIFEST, task="classification"),
        replace(MANIFEST, classes=("dog", "cat")),
        replace(MANIFEST, classes=("cat", "dog", "emu")),
        replace(MANIFEST, splits=MANIFEST.splits | {TRAIN: split_of(shard(TRAIN, "c"))}),
        replace(MANIFEST, splits=MANIFEST.splits | {VALIDATION: split_of(shard(VALIDATION, "a"))}),
        replace(MANIFEST, multi_label=True),
    ],
    ids=["task", "order of classes", "one more class", "training shard", "validation shard", "labels an example"],
)
def test_digest_changes_with_the_content(other: Manifest) -> None:
    assert other.digest != MANIFEST.digest


def test_digest_tells_which_split_a_shard_is_in() -> None:
    one, two, three = shard(TRAIN, "1"), shard(TRAIN, "2"), shard(TRAIN, "3")
    early, late = (
        replace(MANIFEST, splits={TRAIN: split_of(*train), VALIDATION: split_of(*validation)})
        for train, validation in [((one,), (two, three)), ((one, two), (three,))]
    )
    assert early.digest != late.digest


def tampered(folder: Path, change: Callable[[dict], object]) -> None:
    MANIFEST.write(folder)
    path = folder / "manifest.json"
    tree = json.loads(path.read_text())
    change(tree)
    path.write_text(json.dumps(tree))


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree["classes"].append("emu"),
        lambda tree: tree["classes"].reverse(),
        lambda tree: tree.update(task="classification"),
        lambda tree: tree["splits"]["train"]["shards"][0].update(sha256="0" * 64),
        lambda tree: tree["splits"]["train"]["shards"].clear(),
        lambda tree: tree.update(digest="0" * 64),
        lambda tree: tree.update(multi_label=True),
    ],
    ids=["class added", "classes turned round", "task", "shard", "shard removed", "digest", "labels an example"],
)
def test_tampered_manifest_is_refused(change: Callable[[dict], object], tmp_path: Path) -> None:
    tampered(tmp_path, change)
    with pytest.raises(DataError, match=r"manifest\.json: its digest does not fit its content; run `dvc repro --force"):
        read_manifest(tmp_path)


def test_manifest_whose_examples_do_not_add_up_is_refused(tmp_path: Path) -> None:
    """The number of examples decides the order, the epochs and the steps."""
    tampered(tmp_path, lambda tree: tree["splits"]["train"].update(examples=1))
    with pytest.raises(DataError):
        read_manifest(tmp_path)


@pytest.mark.parametrize(("key", "value"), [("multi_label", "no"), ("multi_label", 0), ("boxes_sha256", 7)])
def test_manifest_with_a_value_of_another_kind_is_refused(key: str, value: object, tmp_path: Path) -> None:
    tampered(tmp_path, lambda tree: tree.update({key: value}))
    with pytest.raises(DataError, match=rf"manifest\.json: cannot be read \(TypeError: {key} must be"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", ['{"task": "detection", "cla', "[]", "{}"], ids=["cut short", "a list", "empty"])
def test_manifest_that_cannot_be_read_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(DataError, match=r"manifest\.json: .*run `dvc repro --force build_records`"):
        read_manifest(tmp_path)


def test_missing_manifest_says_that_the_build_never_finished(tmp_path: Path) -> None:
    message = r"manifest\.json: missing, so the records were never finished; run `dvc repro build_records`"
    with pytest.raises(DataError, match=message):
        read_manifest(tmp_path)
