"""TFRecord frames without TensorFlow, against TensorFlow."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.shards import make_frame, read_frame, read_frames


def test_a_file_of_frames_is_read_by_tensorflow_and_one_of_tensorflow_here(tmp_path: Path) -> None:
    records = [b"", b"x", np.random.default_rng(0).bytes(100_000)]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with ours.open("wb") as file:
        for record in records:
            head, tail = make_frame(record)
            file.write(head + record + tail)
    with tf.io.TFRecordWriter(str(theirs)) as writer:
        for record in records:
            writer.write(record)
    assert ours.read_bytes() == theirs.read_bytes()
    assert [read_frame(theirs, *span) for span in read_frames(theirs)] == records


@pytest.mark.parametrize(("place", "message"), [(3, "wrong checksum at byte 0"), (9, "wrong checksum at byte 0")])
def test_a_damaged_length_is_noticed(place: int, message: str, tmp_path: Path) -> None:
    head, tail = make_frame(b"some data")
    content = bytearray(head + b"some data" + tail)
    content[place] ^= 1
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(read_frames(tmp_path / "file"))


def test_damaged_data_and_a_cut_file_are_noticed(tmp_path: Path) -> None:
    head, tail = make_frame(b"some data")
    path = tmp_path / "file"
    path.write_bytes(head + b"some dada" + tail)
    [span] = read_frames(path)
    with pytest.raises(ValueError, match=r"damaged record: .*\b12$"):
        read_frame(path, *span)
    path.write_bytes((head + b"some data" + tail) * 2)
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) - 20):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=rf"ends inside.*\b{length}$"):
            list(read_frames(path))
