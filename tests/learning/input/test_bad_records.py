"""A byte that changed after the build: said with shard, record and offset, or left out by rule."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.building import write_shards
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.foundation.errors import DataError, errors_in_one_line
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.batches import evaluation_batches, training_batches
from bakeoff.learning.input.record_reader import BadRecords, OnBadRecord, RecordReader, plain_errors_of
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from support.messages import missing_in

EXAMPLES = 11
CLASSES = tuple("abcdefghijk")
SHAPE = Shape("classification", 8, 1, batch_size=3, decode_threads=2, prefetch_batches=2)


@pytest.fixture
def split(
    png: Callable[[np.ndarray], bytes], write_train: Callable[..., Split], monkeypatch: pytest.MonkeyPatch
) -> Split:
    """Example n is of class n + 1; shards of 3, 4 and 4."""
    monkeypatch.setattr(write_shards, "EXAMPLES_PER_SHARD", 4)
    image = png(np.full((8, 8, 3), 100, np.uint8))
    return write_train(
        [Record(f"r{n}", (image,), 8, 8, labels=(CLASSES[n],), format="png") for n in range(11)], CLASSES
    )


def damage(folder: Path, example: int) -> int:
    """Changes one bit in the middle of an example; gives where its data begin in the shard."""
    shard, number = (0, example) if example < 3 else (1, example - 3) if example < 7 else (2, example - 7)
    name = f"train-{shard:05d}-of-00003"
    offset, length = np.load(folder / f"index-{name}.npy")[number]
    content = bytearray((folder / name).read_bytes())
    content[offset + length // 2] ^= 0x10
    (folder / name).write_bytes(content)
    return int(offset)


def trained_on(store: RecordReader, steps: range, *, batch_size: int = 3, threads: int = 2) -> list[int]:
    """Numbers of the examples, batch after batch."""
    shape = Shape("classification", 8, 1, batch_size=batch_size, decode_threads=threads, prefetch_batches=threads)
    return [int(label) - 1 for batch in training(store, shape, steps) for label in batch["label"]]


def training(store: RecordReader, shape: Shape, steps: range) -> tf.data.Dataset:
    def encode(example: dict) -> dict:
        return {"label": example["label"]}

    return training_batches(
        store, shape, order=ExampleOrder(EXAMPLES, 4), steps=steps, augment=Augment(), encode=encode
    )


@pytest.fixture
def damaged(split: Split, tmp_path: Path) -> Callable[[OnBadRecord], RecordReader]:
    """A store of which example 5 is damaged: the third of the second shard."""
    damage(tmp_path, 5)
    return lambda rule: RecordReader(tmp_path, split, rule)


@pytest.mark.parametrize("loop", ["training", "evaluation"])
def test_damaged_record_is_said_in_one_line_when_its_batch_is_wanted(
    loop: str, split: Split, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offset, store, given = damage(tmp_path, 5), RecordReader(tmp_path, split), 0
    batches = training(store, SHAPE, range(4)) if loop == "training" else evaluation_batches(store, SHAPE)
    place = np.random.default_rng([4, 0]).permutation(EXAMPLES).tolist().index(5) if loop == "training" else 5
    with pytest.raises(SystemExit) as ended, errors_in_one_line(), plain_errors_of(store):
        for _ in batches:
            given += 1
    assert given == place // 3  # the batches before come as always
    assert ended.value.code == 2
    [warning] = capsys.readouterr().err.splitlines()
    file, commands = (
        f"{tmp_path}/train-00001-of-00003: ",
        ("`dvc repro --force build_records`", "memory.on_bad_record: skip"),
    )
    assert missing_in(warning, file, "record 2", f"byte {offset}", "checksum", *commands) == []


def test_error_that_is_none_of_the_records_is_not_hidden(split: Split, tmp_path: Path) -> None:
    def encode(example: dict) -> dict:
        with tf.control_dependencies([tf.debugging.assert_less(example["label"], tf.constant(0, tf.int64))]):
            return {"label": tf.identity(example["label"])}

    store = RecordReader(tmp_path, split)
    batches = training_batches(
        store, SHAPE, order=ExampleOrder(EXAMPLES, 4), steps=range(1), augment=Augment(), encode=encode
    )
    store.failed = "was said before"
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"), plain_errors_of(store):
        list(batches)


@pytest.mark.parametrize("loop", ["training", "evaluation"])
def test_a_whole_record_that_no_build_writes_is_named(
    loop: str,
    write_train: Callable[..., Split],
    png: Callable[[np.ndarray], bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = png(np.full((8, 8, 3), 100, np.uint8))
    records = [Record(f"r{n}", (image,), 8, 8, labels=(CLASSES[n],), format="png") for n in range(EXAMPLES)]
    whole = write_shards.encode_record

    def without_height(record: Record, *given: object) -> bytes:
        data = whole(record, *given)  # type: ignore[arg-type]
        return data.replace(b"image/height", b"image/heighs") if record.name == "r5" else data

    monkeypatch.setattr(write_shards, "encode_record", without_height)
    store = RecordReader(tmp_path, write_train(records, CLASSES))
    batches = training(store, SHAPE, range(4)) if loop == "training" else evaluation_batches(store, SHAPE)
    with pytest.raises(DataError) as refused, plain_errors_of(store):
        list(batches)
    assert missing_in(str(refused.value), "train-00000", "record 5", "image/height", "`dvc repro --force") == []


def test_place_of_a_skipped_record_is_taken_by_the_next_of_the_order(damaged: Callable[[str], RecordReader]) -> None:
    orders = [np.random.default_rng([4, epoch]).permutation(EXAMPLES).tolist() for epoch in range(3)]
    expected = []
    for order in orders:
        place = order.index(5)
        expected += [*order[:place], order[(place + 1) % EXAMPLES], *order[place + 1 :]]
    store = damaged("skip")
    assert trained_on(store, range(11)) == expected
    assert list(store.bad) == [5]


def test_what_takes_the_place_does_not_depend_on_batch_size_threads_or_first_step(
    damaged: Callable[[str], RecordReader],
) -> None:
    whole = trained_on(damaged("skip"), range(8))
    assert trained_on(damaged("skip"), range(5, 8), threads=5) == whole[15:]
    assert trained_on(damaged("skip"), range(4), batch_size=6) == whole


def test_last_place_of_an_epoch_is_taken_by_its_first_example(split: Split, tmp_path: Path) -> None:
    order = np.random.default_rng([4, 0]).permutation(EXAMPLES).tolist()
    damage(tmp_path, order[-1])
    [*_, last] = trained_on(RecordReader(tmp_path, split, "skip"), range(1), batch_size=11)
    assert last == order[0]


def test_neighbours_in_the_order_may_both_be_damaged(split: Split, tmp_path: Path) -> None:
    order = np.random.default_rng([4, 0]).permutation(EXAMPLES).tolist()
    damage(tmp_path, order[1])
    damage(tmp_path, order[2])
    assert trained_on(RecordReader(tmp_path, split, "skip"), range(1), batch_size=5) == [
        order[0],
        order[3],
        order[3],
        order[3],
        order[4],
    ]


def test_evaluation_goes_on_without_a_skipped_record(damaged: Callable[[str], RecordReader]) -> None:
    store = damaged("skip")
    numbers = [batch["number"].numpy().tolist() for batch in evaluation_batches(store, SHAPE)]
    assert numbers == [[0, 1, 2], [3, 4, 6], [7, 8, 9], [10]]


def test_skipped_record_is_named_once(
    damaged: Callable[[str], RecordReader], capfd: pytest.CaptureFixture[str]
) -> None:
    store = damaged("skip")
    trained_on(store, range(11))
    lines = capfd.readouterr().err.splitlines()
    assert len([line for line in lines if "record 2, at byte" in line and line.startswith("warning: ")]) == 1


def test_store_of_which_nothing_is_whole_is_an_error_also_when_bad_records_are_skipped(
    split: Split, tmp_path: Path
) -> None:
    for example in range(EXAMPLES):
        damage(tmp_path, example)
    store, message = (
        RecordReader(tmp_path, split, "skip"),
        r"record \d, at byte \d+, .*damaged.*every other",
    )
    with pytest.raises(DataError, match=message), plain_errors_of(store):
        trained_on(store, range(1))


def test_every_byte_of_a_record_is_watched(split: Split, tmp_path: Path) -> None:
    """Also those of the checksum itself."""
    path = tmp_path / "train-00000-of-00003"
    whole = path.read_bytes()
    [offset, length] = np.load(tmp_path / "index-train-00000-of-00003.npy")[1]
    for place in range(offset, offset + length + 4):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"/train-00000-of-00003: record 1, at byte {offset}, .*damaged"):
            RecordReader(tmp_path, split).read(np.array([1]))
    path.write_bytes(whole)
    assert RecordReader(tmp_path, split).read(np.array([1])) == [whole[offset : offset + length]]


def test_index_of_another_build_is_refused_before_anything_is_read(split: Split, tmp_path: Path) -> None:
    path = tmp_path / "index-train-00001-of-00003.npy"
    index = np.load(path)
    index[1] += [1, -1]
    np.save(path, index)
    message = r"/index-train-00001-of-00003\.npy: .*not fit train-00001-of-00003\b.*`dvc repro --force build_records`"
    with pytest.raises(DataError, match=message):
        RecordReader(tmp_path, split)


def test_index_that_is_no_array_is_refused(split: Split, tmp_path: Path) -> None:
    (tmp_path / "index-train-00001-of-00003.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(DataError, match=r"/index-train-00001-of-00003\.npy: cannot be read \(.*\).*`dvc repro"):
        RecordReader(tmp_path, split)


def test_shard_of_another_build_with_the_same_size_is_refused_before_anything_is_read(
    split: Split, tmp_path: Path
) -> None:
    path = tmp_path / "train-00001-of-00003"
    path.write_bytes(re.sub(rb"(?s)^.(.*)$", rb"\1.", path.read_bytes()))
    with pytest.raises(DataError, match="/train-00001-of-00003: .*no record.*`dvc repro --force build_records`"):
        RecordReader(tmp_path, split)


def test_skipped_records_are_counted_over_interruptions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = BadRecords()
    before.keep_in(tmp_path)
    for split, example in (("train", 5), ("train", 5), ("validation", 5)):
        before.of(split)(example, f"{split} {example}")
    after = BadRecords()
    after.keep_in(tmp_path)
    after.of("train")(5, "train 5")
    after.of("train")(6, "train 6")
    assert before.counts() == {"train": 1, "validation": 1} and after.counts() == {"train": 2, "validation": 1}
    assert capsys.readouterr().err.splitlines() == [
        f"warning: {which}; it is left out" for which in ("train 5", "validation 5", "train 6")
    ]


def test_whole_records_count_nothing(tmp_path: Path) -> None:
    records = BadRecords()
    records.keep_in(tmp_path)
    assert records.counts() == {} and list(tmp_path.iterdir()) == []


def test_whole_record_with_an_image_that_nobody_decodes_is_named(
    write_train: Callable[..., Split], tmp_path: Path
) -> None:
    """As somebody writes who means to: every checksum fits."""
    cut = b"\xff\xd8\xff\xe0" + bytes(50)
    store = RecordReader(tmp_path, write_train([Record("r", (cut,), 8, 8, labels=("a",))], CLASSES))
    with pytest.raises(DataError) as refused, plain_errors_of(store):
        list(evaluation_batches(store, SHAPE))
    place = f"{tmp_path}/train-00000-of-00001: record 0"
    assert missing_in(str(refused.value), place, "image", "`dvc repro --force build_records`") == []


def test_record_whose_bytes_tensorflow_cannot_even_repeat_is_named(
    split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordReader(tmp_path, split)
    monkeypatch.setattr(store, "read", lambda examples: [b"\x0a" + b"\xff" * 8 + b"\x7f"])
    with pytest.raises(DataError) as refused, plain_errors_of(store):
        b"\xff".decode()
    assert missing_in(str(refused.value), f"{tmp_path}/train-00000-of-00003: record 0", "tf.Example") == []


def test_whole_record_that_is_no_example_is_named_where_its_origin_is_asked_for(
    split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordReader(tmp_path, split)
    monkeypatch.setattr(store, "read", lambda examples: [b"\x0a\x02" * 50])
    with pytest.raises(DataError) as refused:
        list(store.origins(np.array([4])))
    place = f"{tmp_path}/train-00001-of-00003: record 1"
    assert missing_in(str(refused.value), place, "tf.Example", "`dvc repro --force build_records`") == []
