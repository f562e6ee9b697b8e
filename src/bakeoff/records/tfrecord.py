"""The frames of a TFRecord file: length (8 bytes), its checksum (4), data, checksum (4); CRC-32C, masked."""

import struct
from collections.abc import Iterator
from pathlib import Path

import google_crc32c

HEAD, TAIL = 12, 4  # bytes before and after the data
LONGEST = 1 << 31  # a length above this is damage


def checksum(data: bytes) -> int:
    return google_crc32c.value(data)


def frame(data: bytes) -> tuple[bytes, bytes]:
    """What stands before and after the data."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length), _masked(data)


def read_frames(path: Path) -> Iterator[tuple[int, int]]:
    """(offset, length) of the data of every record, the data unread. Raises ValueError where the file is damaged."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size:
            head = file.read(HEAD)
            if len(head) < HEAD:
                raise ValueError(f"ends inside a record, at byte {size}")
            if _masked(head[:8]) != head[8:]:
                raise ValueError(f"damaged or no TFRecord file: wrong checksum at byte {place}")
            [length] = struct.unpack("<Q", head[:8])
            if length > LONGEST or place + HEAD + length + TAIL > size:
                raise ValueError(f"ends inside a record, at byte {size}")
            yield place + HEAD, length
            place += HEAD + length + TAIL
            file.seek(place)


def read_frame(path: Path, offset: int, length: int) -> bytes:
    """The data of one record. Raises ValueError if they are damaged."""
    with path.open("rb") as file:
        file.seek(offset)
        data, tail = file.read(length), file.read(TAIL)
    if not is_whole(data, tail):
        raise ValueError(f"damaged record: wrong checksum at byte {offset}")
    return data


def is_whole(data: bytes, tail: bytes) -> bool:
    """Whether these are the data that were written before `tail`."""
    return _masked(data) == tail


def is_head(head: bytes, length: int) -> bool:
    """Whether this is what stands before data of that length."""
    packed = struct.pack("<Q", length)
    return head == packed + _masked(packed)


def _masked(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)
