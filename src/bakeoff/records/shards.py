"""Records -> shards `train-00000-of-00002` (TFRecord) and beside each its index, `index-train-00000-of-00002.npy`.

The index holds (offset, length) of every serialized example in its shard, so that any example can be
read without the ones before it. Its name does not start with the split's, because readers of such
folders take every `train-*` for a shard.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from bakeoff.records.manifest import Shard
from bakeoff.records.tfrecord import HEAD, TAIL, frame


def index_name(shard: str) -> str:
    return f"index-{shard}.npy"


def shard_name(split: str, number: int, count: int) -> str:
    return f"{split}-{number:05d}-of-{count:05d}"


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is None:
            np.save(self._folder / index_name(self._name), np.array(self._index, np.int64).reshape(-1, 2))

    def write(self, data: bytes) -> None:
        head, tail = frame(data)
        for part in (head, data, tail):
            self._file.write(part)
            self._digest.update(part)
        self._index.append((self._offset + HEAD, len(data)))
        self._offset += HEAD + len(data) + TAIL

    def made(self) -> Shard:
        return Shard(self._name, len(self._index), self._offset, self._digest.hexdigest())


def write_labels(classes: Sequence[str], folder: Path) -> None:
    """`labels.txt`, one label a line, and `label_map.pbtxt` for the Object Detection API, ids from 1."""
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in classes), encoding="utf-8")
    items = (
        f"item {{\n  id: {number}\n  name: {_quoted(label)}\n}}\n" for number, label in enumerate(classes, start=1)
    )
    (folder / "label_map.pbtxt").write_text("".join(items), encoding="utf-8")


def _quoted(label: str) -> str:
    return "'" + label.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
