import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.building import write_shards
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.foundation.errors import DataError
from bakeoff.learning.input.record_reader import RecordReader

Open = Callable[[Path, Split], RecordReader]


@pytest.fixture
def split(write_train: Callable[..., Split], monkeypatch: pytest.MonkeyPatch) -> Split:
    """Eleven examples of different lengths in shards of 3, 4 and 4."""
    monkeypatch.setattr(write_shards, "EXAMPLES_PER_SHARD", 4)
    records = [Record(f"r{n}", (bytes([n]) * (40 * n),), 8, 8, labels=("a",)) for n in range(11)]
    return write_train(records, ["a"])


def stored(folder: Path, split: Split) -> list[bytes]:
    """What TensorFlow's own reader finds, shard after shard."""
    return [data.numpy() for shard in split.shards for data in tf.data.TFRecordDataset(str(folder / shard.file))]


def test_examples_are_read_by_number_across_shards(split: Split, open_store: Open, tmp_path: Path) -> None:
    store, expected = open_store(tmp_path, split), stored(tmp_path, split)
    assert [shard.examples for shard in split.shards] == [3, 4, 4]
    assert store.examples == len(expected) == 11
    assert store.read(np.arange(11)) == expected


def test_examples_may_be_asked_for_in_any_order_and_again(split: Split, open_store: Open, tmp_path: Path) -> None:
    store, expected = open_store(tmp_path, split), stored(tmp_path, split)
    for numbers in ([10, 0, 3, 2], [3, 3, 3], [7], []):
        assert store.read(np.array(numbers, np.int64)) == [expected[number] for number in numbers]


def test_examples_are_known_by_the_files_that_they_were_made_of(split: Split, open_store: Open, tmp_path: Path) -> None:
    store = open_store(tmp_path, split)
    assert store.names(np.array([10, 3])) == ["r10", "r3"]
    assert [(one.file, one.height, one.width) for one in store.origins(np.array([3]))] == [("r3", 8.0, 8.0)]
    nameless = tf.train.Example(features=tf.train.Features(feature={})).SerializeToString()
    store.read = lambda examples: [nameless] * len(examples)  # type: ignore[method-assign]
    assert store.names(np.array([10])) == ["no. 10"]
    [unknown] = store.origins(np.array([10]))
    assert np.isnan(unknown.height) and np.isnan(unknown.width)


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    """They change places after every few operations."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def test_several_threads_read_without_getting_in_each_others_way(
    split: Split, open_store: Open, impatient_threads: None, tmp_path: Path
) -> None:
    store, expected = open_store(tmp_path, split), stored(tmp_path, split)
    asked = np.random.default_rng(0).integers(0, 11, (1000, 8))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(store.read, asked))
    assert answers == [[expected[number] for number in row] for row in asked]


@pytest.mark.parametrize("kind", ["shard", "index"])
def test_missing_file_is_named_with_the_command_that_makes_it(kind: str, split: Split, tmp_path: Path) -> None:
    lost = {"shard": "train-00000-of-00003", "index": "index-train-00000-of-00003.npy"}[kind]
    (tmp_path / lost).unlink()
    message = rf"/{lost}: missing.*`dvc repro --force build_records`$"
    with pytest.raises(DataError, match=message):
        RecordReader(tmp_path, split)


def test_index_of_another_length_than_the_manifest_says_is_refused(split: Split, tmp_path: Path) -> None:
    index = tmp_path / "index-train-00000-of-00003.npy"
    np.save(index, np.load(index)[:2])
    with pytest.raises(DataError, match=r"index-train-00000-of-00003\.npy: \D+\b2\b\D+\b3\b\D+`dvc repro"):
        RecordReader(tmp_path, split)


def test_shard_that_was_cut_short_is_refused(split: Split, open_store: Open, tmp_path: Path) -> None:
    """Else training fails much later, in the decoder, without a file's name."""
    last = tmp_path / split.shards[-1].file
    last.write_bytes(last.read_bytes()[:-50])
    with pytest.raises(DataError, match=last.name):
        open_store(tmp_path, split).read(np.array([10]))


def test_store_that_nobody_uses_any_more_leaves_no_file_open(
    split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.freeze()  # what other tests left is not looked through
    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda problem: complaints.append(problem.exc_value))
    store = RecordReader(tmp_path, replace(split))
    store.read(np.array([0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        del store
        gc.collect()
    gc.unfreeze()
    assert complaints == []
