"""What stands beside the shards: the manifest, label files, and the table of all training boxes."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from bakeoff.dataset.records.manifest import BoxTable, Manifest, Shard, Split, read_boxes, read_manifest, write_labels
from bakeoff.dataset.records.record import TRAIN, VALIDATION, Box
from bakeoff.foundation.errors import DataError

ROWS = [(0.125, 0.25, 0.5, 0.75), (0.0, 0.5, 1.0, 1.0), (0.25, 0.25, 0.375, 0.5)]
BOXES = [Box(*row, "cat") for row in ROWS]


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
    with pytest.raises(DataError, match=r"manifest\.json: its digest.*`dvc repro --force build_records`"):
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


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree["splits"]["train"].update(decoded_bytes=None),
        lambda tree: tree["splits"]["train"].update(frames="x"),
        lambda tree: tree["splits"]["train"].update(decoded_bytes=-1),
        lambda tree: tree["splits"]["train"].update(decoded_bytes=2**70),
        lambda tree: tree["splits"]["train"].update(counts={"ant": -5}),
        lambda tree: tree["splits"]["train"]["shards"][0].update(file="../../elsewhere"),
        lambda tree: tree["splits"]["train"]["shards"][0].update(file="\0"),
        lambda tree: tree["classes"].append(7),
    ],
    ids=["no number", "a text", "below 0", "huge", "a count", "a file outside", "no name", "a class"],
)
def test_manifest_of_somebody_who_means_to_is_refused(change: Callable[[dict], object], tmp_path: Path) -> None:
    tampered(tmp_path, change)
    with pytest.raises(DataError, match=r"manifest\.json: cannot be read .*(splits\.train|classes)"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", ['{"task": "detection", "cla', "[]", "{}"], ids=["cut short", "a list", "empty"])
def test_manifest_that_cannot_be_read_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(DataError, match=r"manifest\.json: .*run `dvc repro --force build_records`"):
        read_manifest(tmp_path)


def test_missing_manifest_says_that_the_build_never_finished(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"manifest\.json: missing.*`dvc repro build_records`"):
        read_manifest(tmp_path)


# Label files.


def read_label_map(path: Path) -> list[tuple[int, str]]:
    """Parsed as the Object Detection API does, with its StringIntLabelMap message writing here."""
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
    write_labels(["cat", "dog", "emu"], tmp_path)
    assert (tmp_path / "labels.txt").read_text() == "cat\ndog\nemu\n"
    assert read_label_map(tmp_path / "label_map.pbtxt") == [(1, "cat"), (2, "dog"), (3, "emu")]
    assert (tmp_path / "label_map.pbtxt").read_text().startswith("item {\n  id: 1\n  name: 'cat'\n}\n")


@pytest.mark.parametrize("label", ["driver's", "'", 'the "big" one', "back\\slash", "\\'", "\\n", "a\nb", "œuf", "{}"])
def test_label_map_quotes_what_the_format_gives_a_meaning(label: str, tmp_path: Path) -> None:
    write_labels(["first", label, "last"], tmp_path)
    assert read_label_map(tmp_path / "label_map.pbtxt") == [(1, "first"), (2, label), (3, "last")]


# The table of boxes.


@pytest.fixture
def detection(tmp_path: Path) -> Manifest:
    with BoxTable(tmp_path) as table:
        table.add(BOXES[:2])
        table.add([])
        table.add(BOXES[2:])
    return Manifest("detection", ("cat",), {}, boxes_sha256=table.sha256())


def test_boxes_come_back_in_the_order_in_which_they_were_added(detection: Manifest, tmp_path: Path) -> None:
    boxes = read_boxes(tmp_path, detection)
    assert boxes.dtype == np.float32
    assert boxes.tolist() == [list(row) for row in ROWS]


def test_any_program_that_knows_numpy_reads_the_file(detection: Manifest, tmp_path: Path) -> None:
    assert np.load(tmp_path / "boxes.npy", mmap_mode="r").shape == (3, 4)


def test_no_boxes_at_all_are_a_table_of_no_rows(tmp_path: Path) -> None:
    with BoxTable(tmp_path) as table:
        table.add([])
    boxes = read_boxes(tmp_path, Manifest("detection", ("cat",), {}, boxes_sha256=table.sha256()))
    assert boxes.shape == (0, 4)


def test_many_rows_leave_the_first_where_they_are(tmp_path: Path) -> None:
    """The header is written before the number of rows is known."""
    rows = np.random.default_rng(0).random((123_457, 4), np.float32)
    with BoxTable(tmp_path) as table:
        for start in range(0, len(rows), 1000):
            table.add_rows(rows[start : start + 1000])
    assert np.array_equal(np.load(tmp_path / "boxes.npy"), rows)


def test_a_damaged_table_is_refused(detection: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "boxes.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"boxes\.npy: damaged.*digest.*`dvc repro --force build_records`"):
        read_boxes(tmp_path, detection)


def test_a_missing_table_is_refused(detection: Manifest, tmp_path: Path) -> None:
    (tmp_path / "boxes.npy").unlink()
    with pytest.raises(DataError, match=r"boxes\.npy: missing.*`dvc repro --force build_records`"):
        read_boxes(tmp_path, detection)


def test_records_without_boxes_have_no_table(detection: Manifest, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"boxes\.npy: .*detection.*classification"):
        read_boxes(tmp_path, replace(detection, task="classification", boxes_sha256=None))
