"""What `data/records` holds besides shards: `manifest.json`, labels, and `boxes.npy`, all training boxes in a table.

The manifest is written last, so it exists only if the build finished:
{"task": "detection", "classes": ["0", "1", ...], "multi_label": false, "boxes_sha256": "41d7...",
 "source_digest": "77ab...", "digest": "9f0c...", "splits": {"train": {"examples": 600, "decoded_bytes": 55711232,
   "counts": {"0": 189, ...}, "shards": [{"file": "train-00000-of-00001", "examples": 600, "sha256": "..."}]}, ...}}
Where there is a test split it has a digest of its own, "test_digest": other test data train nothing again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from bakeoff.dataset.records.record import SEEN, TEST, Box
from bakeoff.foundation.errors import DataError, show
from bakeoff.foundation.files import hash_file
from bakeoff.foundation.plain_values import load_fields

FILE = "manifest.json"
BOXES_FILE = "boxes.npy"
MOST = 1 << 62  # of examples, or of bytes
REMEDY = "run `dvc repro --force build_records`"


@dataclass(frozen=True)
class Shard:
    file: str
    examples: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Split:
    examples: int
    decoded_bytes: int  # of all frames, 3 bytes a pixel
    frames: int  # of one example: 1 for images, the longest for clips
    counts: Mapping[str, int]  # labels or boxes by class
    shards: tuple[Shard, ...]


@dataclass(frozen=True)
class Manifest:
    task: str
    classes: tuple[str, ...]
    splits: dict[str, Split]
    multi_label: bool = False  # an example of a classification may have any number of labels
    boxes_sha256: str | None = None  # of boxes.npy, for detection
    source_digest: str = ""  # of the settings that the records were built with; empty where they are not known
    taught: int = 0  # training examples without a label, which a teacher is to answer

    @property
    def digest(self) -> str:
        """Names what training and selection see: equal for equal classes and equal shards, whatever the test split."""
        return self.digest_of(*SEEN)

    def digest_of(self, *splits: str) -> str:
        """Name the content of these splits."""
        shards = {name: [shard.sha256 for shard in self.splits[name].shards] for name in splits}
        content: list[object] = [self.task, self.classes, shards]
        if self.taught:
            content.append({"taught": self.taught})
        if self.multi_label:
            content.append("multi_label")
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def digests(self) -> dict[str, str]:
        return {"digest": self.digest} | ({"test_digest": self.digest_of(TEST)} if TEST in self.splits else {})

    def write(self, folder: Path) -> None:
        tree = asdict(self) | self.digests
        if not self.taught:
            del tree["taught"]
        (folder / FILE).write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"{path}: missing, so the records were never finished; run `dvc repro build_records`")
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        manifest = _parse(tree)
        digests = {key: tree[key] for key in manifest.digests}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read ({type(error).__name__}: {error}); {REMEDY}") from None
    if manifest.digests != digests:
        raise DataError(f"{path}: its digest does not fit its content; {REMEDY}")
    for name, split in manifest.splits.items():
        held = sum(shard.examples for shard in split.shards)
        if split.examples != held:
            raise DataError(f"{path}: splits.{name}.examples is {split.examples}, its shards hold {held}; {REMEDY}")
    return manifest


def _parse(tree: dict[str, Any]) -> Manifest:
    splits = {name: _parse_split(name, split) for name, split in tree["splits"].items()}
    multi_label, boxes_sha256, source_digest = (tree[key] for key in ("multi_label", "boxes_sha256", "source_digest"))
    if not all(isinstance(text, str) for text in (tree["task"], *tree["classes"])):
        raise TypeError(f"task and classes must be texts, got {show([tree['task'], *tree['classes']])}")
    if type(multi_label) is not bool:
        raise TypeError(f"multi_label must be true or false, got {multi_label!r}")
    if not isinstance(boxes_sha256, str | None):
        raise TypeError(f"boxes_sha256 must be a text or null, got {boxes_sha256!r}")
    if not isinstance(source_digest, str):
        raise TypeError(f"source_digest must be a text, got {source_digest!r}")
    taught, trained = tree.get("taught", 0), splits["train"].examples
    if type(taught) is not int or not 0 <= taught <= trained:
        raise ValueError(f"taught must be a whole number up to {trained:,}, got {show(taught)}")
    return Manifest(tree["task"], tuple(tree["classes"]), splits, multi_label, boxes_sha256, source_digest, taught)


def _parse_split(name: str, tree: dict[str, Any]) -> Split:
    try:
        split = load_fields(Split, tree)
    except TypeError:
        raise TypeError(f"splits.{name} has a value of another kind") from None
    numbers = [split.examples, split.decoded_bytes, split.frames, *split.counts.values()]
    numbers += [number for shard in split.shards for number in (shard.examples, shard.bytes)]
    if not all(0 <= number < MOST for number in numbers):
        raise ValueError(f"splits.{name} has a number below 0 or above {MOST:,}")
    if odd := [one.file for one in split.shards if Path(one.file).name != one.file or not one.file.isprintable()]:
        raise ValueError(f"splits.{name} names the shard {show(odd[0])}, which is not in this folder")
    return split


def write_labels(classes: Sequence[str], folder: Path) -> None:
    """`labels.txt`, one label a line, and `label_map.pbtxt` for the Object Detection API, ids from 1."""
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in classes), encoding="utf-8")
    items = (f"item {{\n  id: {number}\n  name: {_quote(label)}\n}}\n" for number, label in enumerate(classes, start=1))
    (folder / "label_map.pbtxt").write_text("".join(items), encoding="utf-8")


def _quote(label: str) -> str:
    return "'" + label.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


class BoxTable:
    """Writes `boxes.npy`, (n, 4) float32 ymin xmin ymax xmax, as boxes come; memory does not grow with their number."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / BOXES_FILE
        self._file = self._path.open("wb")
        self._rows = 0
        self._write_header()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.seek(0)
        self._write_header()  # NumPy leaves room in it for any number of rows, so the data stay where they are
        self._file.close()

    def add(self, boxes: Iterable[Box]) -> None:
        self.add_rows(np.array([(box.ymin, box.xmin, box.ymax, box.xmax) for box in boxes], np.float32).reshape(-1, 4))

    def add_rows(self, rows: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(rows, "<f4").tobytes())
        self._rows += len(rows)

    def sha256(self) -> str:
        """Of the finished file."""
        return hash_file(self._path)

    def _write_header(self) -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, 4)}
        np.lib.format.write_array_header_1_0(self._file, header)


def read_boxes(folder: Path, manifest: Manifest) -> np.ndarray:
    """Return the (n, 4) boxes of the training split in record order, shares of the image, without reading images."""
    path = folder / BOXES_FILE
    if manifest.boxes_sha256 is None:
        raise DataError(f"{path}: is written for detection, these records are for {manifest.task}")
    if not path.is_file():
        raise DataError(f"{path}: missing, though the manifest names it; {REMEDY}")
    if hash_file(path) != manifest.boxes_sha256:
        raise DataError(f"{path}: damaged, its digest is not the manifest's; {REMEDY}")
    return np.load(path)
