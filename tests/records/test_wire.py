"""tf.Example and TFRecord without TensorFlow, against TensorFlow."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.records.tfrecord import frame, read_frame, read_frames
from bakeoff.records.wire import blobs, decode_features, encode_features, floats, integers, texts

NUMBERS = [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63)]


def by_tensorflow(values: dict[str, list]) -> bytes:
    def feature(value: list) -> tf.train.Feature:
        if value and isinstance(value[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
        if value and isinstance(value[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=value))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

    features = tf.train.Features(feature={key: feature(value) for key, value in values.items()})
    return tf.train.Example(features=features).SerializeToString(deterministic=True)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20_000, 3_000_000])
def test_an_example_has_the_bytes_that_tensorflow_writes(size: int) -> None:
    blob = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    values = {"z": [blob, b""], "a/b": [0.5, -1e30, 3.25], "ids": NUMBERS, "empty": [], "œ": ["é".encode()]}
    ours = {
        "z": blobs([blob, b""]), "a/b": floats([0.5, -1e30, 3.25]), "ids": integers(NUMBERS), "empty": integers([]),
        "œ": texts(["é"]),
    }  # fmt: skip
    assert encode_features(ours) == by_tensorflow(values)


def test_what_tensorflow_wrote_is_read_back() -> None:
    values = {"z": [b"abc", b""], "a/b": [0.5, -2.0], "ids": NUMBERS, "empty": []}
    assert decode_features(by_tensorflow(values)) == values


def test_numbers_that_are_not_packed_are_read_too() -> None:
    """Older writers repeat the field: Feature{3: {1: 5, 1: 300}} and {2: {1: 0.5f}}."""
    whole = b"\n\x0e\n\x0c\n\x01i\x12\x07\x1a\x05\x08\x05\x08\xac\x02"
    assert decode_features(whole) == {"i": [5, 300]}
    assert decode_features(b"\n\x0e\n\x0c\n\x01f\x12\x07\x12\x05\x0d\x00\x00\x00\x3f") == {"f": [0.5]}
    with pytest.raises(ValueError, match="no tf.Example"):
        decode_features(whole[:-1])


@pytest.mark.parametrize("data", [b"\n\xff\xff\xff\xff\x0fabc", b"\x0f", b"\xff" * 20, b"hello there, no example"])
def test_other_bytes_are_no_example(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        decode_features(data)


def test_a_file_of_frames_is_read_by_tensorflow_and_one_of_tensorflow_here(tmp_path: Path) -> None:
    records = [b"", b"x", np.random.default_rng(0).bytes(100_000)]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with ours.open("wb") as file:
        for record in records:
            head, tail = frame(record)
            file.write(head + record + tail)
    with tf.io.TFRecordWriter(str(theirs)) as writer:
        for record in records:
            writer.write(record)
    assert ours.read_bytes() == theirs.read_bytes()
    assert [read_frame(theirs, *span) for span in read_frames(theirs)] == records


@pytest.mark.parametrize(("place", "message"), [(3, "wrong checksum at byte 0"), (9, "wrong checksum at byte 0")])
def test_a_damaged_length_is_noticed(place: int, message: str, tmp_path: Path) -> None:
    head, tail = frame(b"some data")
    content = bytearray(head + b"some data" + tail)
    content[place] ^= 1
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(read_frames(tmp_path / "file"))


def test_damaged_data_and_a_cut_file_are_noticed(tmp_path: Path) -> None:
    head, tail = frame(b"some data")
    path = tmp_path / "file"
    path.write_bytes(head + b"some dada" + tail)
    [span] = read_frames(path)
    with pytest.raises(ValueError, match="damaged record: wrong checksum at byte 12"):
        read_frame(path, *span)
    path.write_bytes((head + b"some data" + tail) * 2)
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) - 20):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=f"ends inside a record, at byte {length}"):
            list(read_frames(path))
