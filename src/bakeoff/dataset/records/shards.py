"""TFRecord files: shards `train-00000-of-00002`, and beside each its index, `index-train-00000-of-00002.npy`.

The index holds (offset, length) of every serialized example in its shard, so that any example can be
read without the ones before it. Its name does not start with the split's, because readers of such
folders take every `train-*` for a shard. A frame is length (8 bytes), its checksum (4), data, checksum (4).
"""

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

import google_crc32c
import numpy as np

from bakeoff.dataset.records.manifest import Shard
from bakeoff.foundation.files import open_regular

HEAD, TAIL = 12, 4  # bytes before and after the data
LONGEST = 1 << 31  # a length above this is damage


def name_shard(split: str, number: int, count: int) -> str:
    return f"{split}-{number:05d}-of-{count:05d}"


def name_index(shard: str) -> str:
    return f"index-{shard}.npy"


def locate_examples(folder: Path, shards: Iterable[Shard]) -> list[tuple[Path, int, int]]:
    """Return file, offset and length of each example. Raises OSError or ValueError for an index that is damaged."""
    return [
        (folder / shard.file, int(offset), int(length))
        for shard in shards
        for offset, length in np.load(folder / name_index(shard.file))
    ]


class ShardWriter:
    """One shard and its index. Both are whole only after the block."""

    def __init__(self, folder: Path, file: str) -> None:
        self._folder, self._name = folder, file
        self._file = (folder / file).open("wb", buffering=1 << 20)
        self._digest = hashlib.sha256()
        self._index: list[tuple[int, int]] = []
        self._offset = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is None:
            np.save(self._folder / name_index(self._name), np.array(self._index, np.int64).reshape(-1, 2))

    def write(self, data: bytes) -> None:
        head, tail = make_frame(data)
        for part in (head, data, tail):
            self._file.write(part)
            self._digest.update(part)
        self._index.append((self._offset + HEAD, len(data)))
        self._offset += HEAD + len(data) + TAIL

    def describe(self) -> Shard:
        """Return the manifest's account of what was written so far."""
        return Shard(self._name, len(self._index), self._offset, self._digest.hexdigest())


def compute_checksum(data: bytes) -> int:
    return google_crc32c.value(data)


def make_frame(data: bytes) -> tuple[bytes, bytes]:
    """Return what stands before and after the data."""
    length = struct.pack("<Q", len(data))
    return length + _mask(length), _mask(data)


def read_frames(path: Path) -> Iterator[tuple[int, int]]:
    """Yield (offset, length) of every record's data, unread. Raises ValueError where the file is damaged."""
    place = 0
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        while place < size:
            head = file.read(HEAD)
            if len(head) < HEAD:
                raise ValueError(f"ends inside a record, at byte {size}")
            if _mask(head[:8]) != head[8:]:
                raise ValueError(f"damaged or no TFRecord file: wrong checksum at byte {place}")
            [length] = struct.unpack("<Q", head[:8])
            if length > LONGEST or place + HEAD + length + TAIL > size:
                raise ValueError(f"ends inside a record, at byte {size}")
            yield place + HEAD, length
            place += HEAD + length + TAIL
            file.seek(place)


def read_frame(path: Path, offset: int, length: int) -> bytes:
    """Return the data of one record. Raises ValueError if they are damaged."""
    with open_regular(path) as file:
        file.seek(offset)
        data, tail = file.read(length), file.read(TAIL)
    if not is_whole(data, tail):
        raise ValueError(f"damaged record: wrong checksum at byte {offset}")
    return data


def is_whole(data: bytes, tail: bytes) -> bool:
    """Whether these are the data that were written before `tail`."""
    return _mask(data) == tail


def is_head(head: bytes, length: int) -> bool:
    """Whether this is what stands before data of that length."""
    packed = struct.pack("<Q", length)
    return head == packed + _mask(packed)


def _mask(data: bytes) -> bytes:
    """Return the checksum of a frame's part: CRC-32C, masked as the format has it."""
    crc = compute_checksum(data)
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)
