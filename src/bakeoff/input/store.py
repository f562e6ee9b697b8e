"""Serialized examples by number, read from the shards at the offsets that the index names."""

import threading
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bakeoff.errors import DataError
from bakeoff.records.manifest import Shard, Split
from bakeoff.records.shards import index_name
from bakeoff.records.wire import Value, decode_features

NAME = "image/filename"


class Store:
    """All examples of one split: `store.read([17, 3])` gives their bytes. Safe to call from several threads."""

    def __init__(self, folder: Path, split: Split) -> None:
        self.examples = split.examples
        self._files: list[BinaryIO] = []
        indexes = [_read_index(folder, shard) for shard in split.shards]
        self._spans = np.concatenate(indexes)  # (examples, 2) offset and length in the shard
        self._shard_of = np.repeat(np.arange(len(indexes)), [len(index) for index in indexes])
        self._files = [(folder / shard.file).open("rb") for shard in split.shards]
        self._lock = threading.Lock()

    def read(self, examples: np.ndarray) -> list[bytes]:
        return [self._read_one(example) for example in examples]

    def names(self, examples: np.ndarray) -> list[str]:
        """The files that they were made of; the number, for records of other programs that do not say."""
        features = [decode_features(data) for data in self.read(examples)]
        return [_text(one.get(NAME)) or f"no. {number}" for one, number in zip(features, examples, strict=True)]

    def __del__(self) -> None:
        for file in self._files:
            file.close()

    def _read_one(self, example: int) -> bytes:
        offset, length = self._spans[example]
        file = self._files[self._shard_of[example]]
        with self._lock:
            file.seek(offset)
            return file.read(length)


def _text(value: Value | None) -> str:
    return value[0].decode(errors="replace") if value and isinstance(value[0], bytes) else ""


def _read_index(folder: Path, shard: Shard) -> np.ndarray:
    path, index_path = folder / shard.file, folder / index_name(shard.file)
    remedy = "run `dvc repro --force build_records`"
    for file in (path, index_path):
        if not file.is_file():
            raise DataError(f"{file}: missing, though the manifest names it; {remedy}")
    if path.stat().st_size != shard.bytes:
        raise DataError(f"{path}: has {path.stat().st_size} bytes, the manifest says {shard.bytes}; {remedy}")
    index = np.load(index_path)
    if index.shape != (shard.examples, 2):
        raise DataError(f"{index_path}: has {len(index)} rows, the manifest says {shard.examples}; {remedy}")
    return index
