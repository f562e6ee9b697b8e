"""Records of a source -> shards with their indexes, and the account of them."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.building import write_shards
from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import TRAIN, VALIDATION, Box, Record, encode_record, number_classes

CLASSES = ("cat", "dog", "emu")
IDS = number_classes(CLASSES)
SCENE = Record(
    "0", (b"pixels",), 60, 80, boxes=(Box(0.125, 0.25, 0.5, 0.75, "dog"), Box(0.0, 0.5, 1.0, 1.0, "cat"))
)  # fmt: skip
CLIP = Record("1", (b"first", b"", b"third"), 16, 24, labels=("dog",), frames_per_second=12.5)


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
    monkeypatch.setattr(write_shards, "EXAMPLES_PER_SHARD", 4)


def stored(folder: Path, split: Split) -> list[list[bytes]]:
    """The serialized examples of each shard, as TensorFlow reads them."""
    return [[data.numpy() for data in tf.data.TFRecordDataset(str(folder / shard.file))] for shard in split.shards]


def test_shards_hold_every_record_once_in_order(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path)
    expected = [encode_record(record, IDS) for record in Numbered(10).records(TRAIN)]
    assert [data for shard in stored(tmp_path, split) for data in shard] == expected


@pytest.mark.parametrize(
    ("pictures", "sizes"), [(1, [1]), (4, [4]), (5, [2, 3]), (10, [3, 3, 4]), (12, [4, 4, 4]), (13, [3, 3, 3, 4])]
)
def test_shards_are_of_nearly_equal_length(pictures: int, sizes: list[int], four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(pictures), VALIDATION, tmp_path)
    assert [len(shard) for shard in stored(tmp_path, split)] == sizes == [shard.examples for shard in split.shards]
    count = len(sizes)
    assert [shard.file for shard in split.shards] == [f"validation-{n:05d}-of-{count:05d}" for n in range(count)]


def test_index_finds_each_record_without_the_ones_before(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path)
    for shard, expected in zip(split.shards, stored(tmp_path, split), strict=True):
        index = np.load(tmp_path / f"index-{shard.file}.npy")
        content = (tmp_path / shard.file).read_bytes()
        assert [content[offset : offset + length] for offset, length in index] == expected
        assert index.dtype == np.int64


def test_readers_that_take_every_file_of_a_split_find_shards_only(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("train-*")) == [shard.file for shard in split.shards]


def test_split_counts_what_it_holds(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path)
    assert (split.examples, split.frames, split.decoded_bytes) == (10, 1, 10 * 10 * 20 * 3)
    assert split.counts == {"cat": 4, "dog": 6, "emu": 0} and list(split.counts) == list(CLASSES)


def test_shards_are_named_by_size_and_digest_of_their_files(four_a_shard: None, tmp_path: Path) -> None:
    split = write_split(Numbered(10), TRAIN, tmp_path)
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
    noted: list[Record] = []
    write_split(Numbered(5), TRAIN, tmp_path, noted.append)
    assert noted == list(Numbered(5).records(TRAIN))


def test_same_records_give_the_same_files(four_a_shard: None, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    assert write_split(Numbered(9), TRAIN, tmp_path / "a") == write_split(Numbered(9), TRAIN, tmp_path / "b")
