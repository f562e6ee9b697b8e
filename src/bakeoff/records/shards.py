"""Records -> shards `train-00000-of-00002` (TFRecord) and beside each its index, `index-train-00000-of-00002.npy`.

The index holds (offset, length) of every serialized example in its shard, so that any example can be
read without the ones before it. Its name does not start with the split's, because readers of such
folders take every `train-*` for a shard.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from bakeoff.records.box_table import BoxTable
from bakeoff.records.example import encode
from bakeoff.records.manifest import Shard, Split
from bakeoff.records.record import Record, Source

EXAMPLES_PER_SHARD = 1024
FRAME_HEAD, FRAME_TAIL = 12, 4  # bytes that TFRecord puts before (length, its checksum) and after (checksum) the data


def index_name(shard: str) -> str:
    return f"index-{shard}.npy"


def write_split(
    source: Source, split: str, folder: Path, done: Callable[[], None], boxes: BoxTable | None = None
) -> Split:
    """Write one split in order, in shards of nearly equal length; `done` is called after each record."""
    classes, total = source.classes(), source.count(split)
    records = iter(source.records(split))
    count = max(1, -(-total // EXAMPLES_PER_SHARD))
    shards: list[Shard] = []
    tally: Counter[str] = Counter()
    decoded_bytes = frames = 0
    for number in range(count):
        file = f"{split}-{number:05d}-of-{count:05d}"
        examples = (number + 1) * total // count - number * total // count
        index = []
        with tf.io.TFRecordWriter(str(folder / file)) as writer:
            offset = 0
            for _ in range(examples):
                record = next(records)
                data = encode(record, classes)
                writer.write(data)
                index.append((offset + FRAME_HEAD, len(data)))
                offset += FRAME_HEAD + len(data) + FRAME_TAIL
                tally.update(_labels(record))
                decoded_bytes += len(record.frames) * record.height * record.width * 3
                frames = max(frames, len(record.frames))
                if boxes:
                    boxes.add(record.boxes)
                done()
        np.save(folder / index_name(file), np.array(index, np.int64).reshape(-1, 2))
        shards.append(Shard(file, examples, offset, _sha256(folder / file)))
    return Split(total, decoded_bytes, frames, {label: tally[label] for label in classes}, tuple(shards))


def write_labels(classes: Sequence[str], folder: Path) -> None:
    """`labels.txt`, one label a line, and `label_map.pbtxt` for the Object Detection API, ids from 1."""
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in classes), encoding="utf-8")
    items = (
        f"item {{\n  id: {number}\n  name: {_quoted(label)}\n}}\n" for number, label in enumerate(classes, start=1)
    )
    (folder / "label_map.pbtxt").write_text("".join(items), encoding="utf-8")


def _quoted(label: str) -> str:
    return "'" + label.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _labels(record: Record) -> list[str]:
    return [box.label for box in record.boxes] or list(record.labels)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
