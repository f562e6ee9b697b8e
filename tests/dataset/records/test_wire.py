"""tf.Example without TensorFlow, against TensorFlow."""

import pytest
import tensorflow as tf

from bakeoff.dataset.records.wire import (
    decode_features,
    encode_blobs,
    encode_features,
    encode_floats,
    encode_integers,
    encode_texts,
)

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
        "z": encode_blobs([blob, b""]),
        "a/b": encode_floats([0.5, -1e30, 3.25]),
        "ids": encode_integers(NUMBERS),
        "empty": encode_integers([]),
        "œ": encode_texts(["é"]),
    }
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
