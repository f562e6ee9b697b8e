"""tf.Example to bytes and back by hand: loading TensorFlow takes longer than writing ten thousand records.

    Example  {1: Features}          Feature   {1: BytesList} or {2: FloatList} or {3: Int64List}
    Features {1: map<string, Feature>}        each list {1: repeated value}, numbers packed

Keys are written in sorted order, so equal features give equal bytes.
"""

import struct
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

import numpy as np

Value = Sequence[bytes] | Sequence[float] | Sequence[int]
Feature = tuple[int, list[bytes]]  # its field number, and parts of its value that `encode_features` joins
BYTES, FLOATS, INTEGERS = 1, 2, 3  # field numbers of Feature
VARINT, DELIMITED = 0, 2  # wire types
MOST_COMMON = 24  # bytes of a value that is encoded once for all records that have it
MOST_VALUES = 1 << 18  # of a feature that is read, and features of an example; more are damage
FIXED = {1: 8, 5: 4}  # wire types of so many bytes
TAGS = {kind: bytes([kind << 3 | DELIMITED]) for kind in (BYTES, FLOATS, INTEGERS)}
SHORT = [bytes((number,)) for number in range(0x80)]  # the numbers that are one byte


def encode_texts(values: Iterable[str]) -> Feature:
    return BYTES, encode_blobs([value.encode() for value in values])[1]


def encode_blobs(values: Iterable[bytes]) -> Feature:
    parts = []
    for value in values:
        parts += [b"\n", _encode_varint(len(value)), value]
    return BYTES, parts


def encode_floats(values: Iterable[float]) -> Feature:
    packed = np.fromiter(values, "<f4").tobytes()
    return FLOATS, [b"\n", _encode_varint(len(packed)), packed] if packed else []


def encode_integers(values: Iterable[int]) -> Feature:
    packed = b"".join(_encode_varint(value & (1 << 64) - 1) for value in values)
    return INTEGERS, [b"\n", _encode_varint(len(packed)), packed] if packed else []


def encode_features(features: Mapping[str, Feature]) -> bytes:
    parts: list[bytes] = []
    length = 0
    for key in sorted(features):
        kind, value = features[key]
        size = sum(map(len, value))
        if size <= MOST_COMMON:
            entry = _encode_common(key, kind, b"".join(value))
            parts.append(entry)
            length += len(entry)
            continue
        feature = TAGS[kind] + _encode_varint(size)
        entry = _encode_key(key) + _encode_varint(len(feature) + size) + feature
        head = b"\n" + _encode_varint(len(entry) + size)
        parts += [head, entry, *value]
        length += len(head) + len(entry) + size
    return b"".join([b"\n", _encode_varint(length), *parts])


@lru_cache(maxsize=4096)
def _encode_common(key: str, kind: int, value: bytes) -> bytes:
    """Return an entry of the map that many records have: a width, a label."""
    feature = TAGS[kind] + _encode_varint(len(value)) + value
    entry = _encode_key(key) + _encode_varint(len(feature)) + feature
    return b"\n" + _encode_varint(len(entry)) + entry


@cache
def _encode_key(key: str) -> bytes:
    """What an entry of the map begins with, up to the length of its feature."""
    name = key.encode()
    return b"\n" + _encode_varint(len(name)) + name + b"\x12"


def decode_features(data: bytes, only: Container[str] | None = None) -> dict[str, Value]:
    """All features of a serialized example; of others than `only` just the names. Raises ValueError if it is none."""
    features: dict[str, Value] = {}
    for tree in _find_fields(memoryview(data), 1):
        for entry in _find_fields(_require_bytes(tree), 1):
            parts = dict(_split_fields(_require_bytes(entry)))
            if 1 not in parts:
                raise ValueError("no tf.Example: a feature without a name")
            name = bytes(_require_bytes(parts[1])).decode()
            is_wanted = only is None or name in only
            features[name] = _decode_feature(_require_bytes(parts.get(2, memoryview(b"")))) if is_wanted else []
    return features


def replace_features(data: bytes, features: Mapping[str, Feature]) -> bytes:
    """Return a serialized example with other values of these features, and all else as it is."""
    kept: list[bytes] = []
    for tree in _find_fields(memoryview(data), 1):
        for entry in map(_require_bytes, _find_fields(_require_bytes(tree), 1)):
            name = bytes(_require_bytes(dict(_split_fields(entry))[1])).decode()
            if name not in features:
                kept += [b"\n", _encode_varint(len(entry)), bytes(entry)]
    rest = b"".join(kept)
    return b"\n" + _encode_varint(len(rest)) + rest + encode_features(features)  # a message may come in two parts


def frames_in(features: Mapping[str, Value]) -> list[bytes]:
    """Return the encoded frames of a record; of an image one."""
    frames = features.get("clip/frames") or features["image/encoded"]
    return [frame for frame in frames if isinstance(frame, bytes)]


def _decode_feature(data: memoryview) -> Value:
    for number, content in _split_fields(data):
        if number != BYTES and len(_require_bytes(content)) > 4 * MOST_VALUES:
            raise ValueError(f"no tf.Example: more than {MOST_VALUES:,} numbers in a feature")
        values = _find_fields(_require_bytes(content), 1)
        if number == BYTES:
            return [bytes(_require_bytes(value)) for value in values]
        if number == FLOATS:
            return [number for value in values for number in _unpack_floats(value)]
        if number == INTEGERS:
            return [number for value in values for number in _unpack_integers(value)]
    return []


def _unpack_floats(value: int | memoryview) -> list[float]:
    if isinstance(value, int):  # not packed: one number
        if value >> 32:
            raise ValueError("no tf.Example: a number of more than 4 bytes where a float belongs")
        return list(struct.unpack("<f", value.to_bytes(4, "little")))
    return [float(number) for number in np.frombuffer(value, "<f4")]


def _unpack_integers(value: int | memoryview) -> Iterator[int]:
    if isinstance(value, int):
        yield to_signed(value)
        return
    place = 0
    while place < len(value):
        number, place = _read_varint(value, place)
        yield to_signed(number)


def to_signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _split_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    place = count = 0
    while place < len(data):
        count += 1
        if count > MOST_VALUES:
            raise ValueError(f"no tf.Example: more than {MOST_VALUES:,} fields in a message")
        tag, place = _read_varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, place = _read_varint(data, place)
            yield number, value
            continue
        if kind == DELIMITED:
            length, place = _read_varint(data, place)
        elif kind in FIXED:
            length = FIXED[kind]
        else:
            raise ValueError(f"no tf.Example: wire type {kind}")
        if place + length > len(data):
            raise ValueError(f"no tf.Example: a field of {length} bytes where {len(data) - place} are left")
        content = data[place : place + length]
        yield number, content if kind == DELIMITED else int.from_bytes(content, "little")
        place += length


def _find_fields(data: memoryview, wanted: int) -> list[int | memoryview]:
    return [content for number, content in _split_fields(data) if number == wanted]


def _require_bytes(content: int | memoryview) -> memoryview:
    if isinstance(content, int):
        raise ValueError("no tf.Example: a number where bytes belong")
    return content


def _read_varint(data: memoryview, place: int) -> tuple[int, int]:
    number = shift = 0
    while place < len(data) and shift < 70:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
    raise ValueError("no tf.Example: a number without an end")


def _encode_varint(number: int) -> bytes:
    if number < 0x80:
        return SHORT[number]
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
