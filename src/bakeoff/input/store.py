"""Serialized examples by number, read from the shards at the offsets that the index names."""

import threading
from pathlib import Path

import numpy as np

from bakeoff.errors import DataError
from bakeoff.records.manifest import Split
from bakeoff.records.shards import index_name


class Store:
    """All examples of one split: `store.read([17, 3])` gives their bytes. Safe to call from several threads."""

    def __init__(self, folder: Path, split: Split) -> None:
        self.examples = split.examples
        indexes = [_read_index(folder, shard.file, shard.examples) for shard in split.shards]
        self._spans = np.concatenate(indexes)  # (examples, 2) offset and length in the shard
        self._shard_of = np.repeat(np.arange(len(indexes)), [len(index) for index in indexes])
        self._files = [(folder / shard.file).open("rb") for shard in split.shards]
        self._lock = threading.Lock()

    def read(self, examples: np.ndarray) -> list[bytes]:
        return [self._read_one(example) for example in examples]

    def _read_one(self, example: int) -> bytes:
        offset, length = self._spans[example]
        file = self._files[self._shard_of[example]]
        with self._lock:
            file.seek(offset)
            return file.read(length)


def _read_index(folder: Path, shard: str, examples: int) -> np.ndarray:
    for path in (folder / shard, folder / index_name(shard)):
        if not path.is_file():
            raise DataError(f"{path}: missing, though the manifest names it; run `dvc repro --force build_records`")
    index = np.load(folder / index_name(shard))
    if index.shape != (examples, 2):
        raise DataError(
            f"{folder / index_name(shard)}: has {len(index)} rows, the manifest says {examples}; "
            "run `dvc repro --force build_records`"
        )
    return index
