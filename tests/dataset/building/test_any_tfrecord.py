"""Any bytes in the place of a TFRecord, an example or an index end in a result, or in one line that says why not."""

import struct
import time
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.dataset.building.validate import ItemVerdict, examine
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.dataset.records.shards import make_frame, name_index
from bakeoff.dataset.records.wire import (
    decode_features,
    encode_blobs,
    encode_features,
    encode_floats,
    encode_integers,
    encode_texts,
)
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.foundation.errors import DataError
from bakeoff.learning.input.record_reader import RecordReader
from support.drawing import encoded, write
from support.messages import missing_in
from support.odd_bytes import bounded_memory, edited, examples, few_or_many

SIDES = ("xmin", "ymin", "xmax", "ymax")
SCENE = {
    "image/encoded": encode_blobs([encoded(1)]),
    "image/object/class/text": encode_texts(["cat", "dog"]),
    "image/object/class/label": encode_integers([1, 2]),
    **{f"image/object/bbox/{side}": encode_floats([n / 8, n / 4]) for n, side in enumerate(SIDES)},
}
WHOLE = {"image/encoded": SCENE["image/encoded"], "image/class/label": encode_integers([2])}
CLIP = {"feature": encode_blobs([bytes(2 * 4 * 4 * 3)]), "label": encode_blobs([b"\0\1"])}
LAYOUTS = {"object_detection": SCENE, "ftc_ml": SCENE, "inception": WHOLE, "s3dg": CLIP}
LABELS = "cat\ndog\n"


def framed(*payloads: bytes) -> bytes:
    parts = []
    for data in payloads:
        head, tail = make_frame(data)
        parts += [head, data, tail]
    return b"".join(parts)


def examine_file(root: Path, layout: str, content: bytes) -> list[ItemVerdict]:
    """List the records of a file and look at each, as a build does."""
    write(root / "train", content)
    write(root / "labels.txt", LABELS)
    dataset = TfRecords(
        path=str(root),
        layout=layout,
        validation=None,
        labels="labels.txt",
        width=4,
        height=4,  # type: ignore[arg-type]
    )
    verdicts = [examine(dataset, root, item) for item in dataset.items(root)]
    for verdict in verdicts:
        assert verdict.reason is None or (verdict.reason and "\n" not in verdict.reason and len(verdict.reason) < 500)
    return verdicts


values = st.one_of(
    st.lists(st.binary(max_size=8), max_size=3).map(encode_blobs),
    st.lists(st.floats(width=32), max_size=3).map(encode_floats),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(encode_integers),
)


def odd_files(layout: str) -> st.SearchStrategy[bytes]:
    """Damaged files, sound files of damaged examples, and sound examples of other values than belong there."""
    features = LAYOUTS[layout]
    sound = encode_features(features)
    others = st.dictionaries(st.sampled_from(sorted(features)), values, min_size=1, max_size=3)
    return st.one_of(
        edited(framed(sound, sound)),
        edited(sound).map(framed),
        others.map(lambda changed: framed(encode_features(features | changed))),
        st.binary(max_size=200).map(framed),
        st.binary(max_size=200),
    )


@few_or_many
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_record_is_brought_over_or_refused(layout: str, number: int, tmp_path: Path) -> None:
    @examples(number)
    @given(odd_files(layout))
    def check(content: bytes) -> None:
        examine_file(tmp_path, layout, content)

    with bounded_memory(500e6):
        check()
    [verdict] = examine_file(tmp_path, layout, framed(encode_features(LAYOUTS[layout])))
    assert verdict.reason is None


def test_a_record_that_claims_two_gigabytes_is_not_read(tmp_path: Path) -> None:
    """The file has them, as holes that take no room on the disk, and the length has its checksum."""
    length = 2_000_000_000
    head = struct.pack("<Q", length)
    crc = google_crc32c.value(head)
    mask = (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF  # as the format has it
    sound = framed(encode_features(SCENE))
    with (tmp_path / "train").open("wb") as file:
        file.write(sound + head + struct.pack("<I", mask))
        file.truncate(len(sound) + 12 + length + 4)
    write(tmp_path / "labels.txt", LABELS)
    dataset = TfRecords(path=str(tmp_path), layout="object_detection", validation=None, labels="labels.txt")
    with bounded_memory(50e6):
        reasons = [examine(dataset, tmp_path, item).reason for item in dataset.items(tmp_path)]
    [reason] = reasons[1:]
    assert missing_in(reason, "2,000 MB", "268 MB") == []


MILLIONS = 20_000_000


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "image/object/class/label",
            (3, [b"\n" + b"\x80\xda\xc4\x09", bytes(MILLIONS)]),
            "more than 262,144 numbers",
        ),
        ("image/object/bbox/xmin", (2, [b"\n" + b"\x80\xda\xc4\x09", bytes(MILLIONS)]), "more than 262,144 numbers"),
        ("image/object/class/text", (1, [b"\n\0" * MILLIONS]), "more than 262,144 fields"),
        ("masks", (2, [b"\n" + b"\x80\xda\xc4\x09", bytes(MILLIONS)]), None),
    ],
)
def test_millions_of_numbers_take_neither_time_nor_memory(
    key: str, value: tuple, message: str | None, tmp_path: Path
) -> None:
    """What the layout has no use for is not looked at: masks have as many numbers as pixels."""
    content = framed(encode_features(SCENE | {key: value}))
    start = time.monotonic()
    with bounded_memory(250e6):
        [verdict] = examine_file(tmp_path, "object_detection", content)
    assert time.monotonic() - start < 5
    assert message is None or message in (verdict.reason or "")


def test_of_features_that_nobody_asked_for_only_names_are_returned() -> None:
    features = decode_features(encode_features(SCENE), {"image/object/class/text"})
    assert features.pop("image/object/class/text") == [b"cat", b"dog"]
    assert features == {key: [] for key in set(SCENE) - {"image/object/class/text"}}


@pytest.mark.parametrize("label", [encode_floats([1.5]), encode_blobs([b"1"]), encode_floats([float("nan")])])
def test_a_label_that_is_no_whole_number_is_refused(label: tuple, tmp_path: Path) -> None:
    [verdict] = examine_file(tmp_path, "inception", framed(encode_features(WHOLE | {"image/class/label": label})))
    assert verdict.reason and verdict.reason.startswith("image/class/label must be a ")


@few_or_many
def test_any_index_is_read_or_refused(
    number: int, tmp_path: Path, write_train: Callable[..., Split], open_store: Callable[[Path, Split], RecordReader]
) -> None:
    split = write_train([Record(f"r{n}", (bytes([n]) * (9 * n),), 8, 8, labels=("a",)) for n in range(5)], ["a"])
    every = np.arange(5)
    path = tmp_path / name_index(split.shards[0].file)
    sound, expected = path.read_bytes(), open_store(tmp_path, split).read(every)
    shapes = st.sampled_from(["(5, 2)", "(1000000000000, 2)", "(-5, 2)", "(5,)", "()", "5", "(" * 90, "[" * 5000])
    types = st.sampled_from(["'<i8'", "'<f8'", "'|O'", "'<U9'", "[('a', '<i4'), ('b', '<i4')]", "'<m8'", "None"])
    headers = st.builds(lambda shape, kind: _with_header(sound, shape, kind), shapes, types)

    @examples(number)
    @given(st.one_of(edited(sound), headers, st.binary(max_size=300), st.just(b"PK\3\4"), st.just(b"")))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            batches = RecordReader(tmp_path, split).read(every)
        except DataError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error) and "run `dvc repro" in str(error)
        else:
            assert batches == expected

    with bounded_memory(100e6):
        check()


def _with_header(index: bytes, shape: str, kind: str) -> bytes:
    """Return the index with another header before its numbers, as NumPy lays it out."""
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}".encode()
    padded = text.ljust(117 + 64 * (len(text) // 64)) + b"\n"
    return index[:8] + len(padded).to_bytes(2, "little") + padded + index[128:]
