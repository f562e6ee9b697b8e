"""`data/records/manifest.json`: what the build made. Written last, so it exists only if the build finished.

{"task": "detection", "classes": ["0", "1", ...], "multi_label": false, "boxes_sha256": "41d7...",
 "source_digest": "77ab...", "digest": "9f0c...",
 "splits": {"train": {"examples": 600, "decoded_bytes": 55711232, "counts": {"0": 189, ...},
                      "shards": [{"file": "train-00000-of-00001", "examples": 600, "sha256": "..."}]}, ...}}
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.errors import DataError

FILE = "manifest.json"


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
    counts: dict[str, int]  # labels or boxes by class
    shards: tuple[Shard, ...]


@dataclass(frozen=True)
class Manifest:
    task: str
    classes: tuple[str, ...]
    splits: dict[str, Split]
    multi_label: bool = False  # an example of a classification may have any number of labels
    boxes_sha256: str | None = None  # of boxes.npy, for detection
    source_digest: str = ""  # of the settings that the records were built with; nothing where nobody said them

    @property
    def digest(self) -> str:
        """Names the content: equal for equal classes and equal shards."""
        shards = {name: [shard.sha256 for shard in split.shards] for name, split in self.splits.items()}
        content: list[object] = [self.task, self.classes, shards]
        if self.multi_label:
            content.append("multi_label")
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def write(self, folder: Path) -> None:
        tree = asdict(self) | {"digest": self.digest}
        (folder / FILE).write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"{path}: missing, so the records were never finished; run `dvc repro build_records`")
    remedy = "run `dvc repro --force build_records`"
    try:
        manifest, digest = _parsed(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read ({type(error).__name__}: {error}); {remedy}") from None
    if manifest.digest != digest:
        raise DataError(f"{path}: its digest does not fit its content; {remedy}")
    for name, split in manifest.splits.items():
        held = sum(shard.examples for shard in split.shards)
        if split.examples != held:
            raise DataError(f"{path}: splits.{name}.examples is {split.examples}, its shards hold {held}; {remedy}")
    return manifest


def _parsed(tree: dict) -> tuple[Manifest, str]:
    """The manifest, and the digest that it was written with."""
    splits = {
        name: Split(**{**split, "shards": tuple(Shard(**shard) for shard in split["shards"])})
        for name, split in tree["splits"].items()
    }
    multi_label, boxes_sha256, source_digest = (tree[key] for key in ("multi_label", "boxes_sha256", "source_digest"))
    if type(multi_label) is not bool:
        raise TypeError(f"multi_label must be true or false, got {multi_label!r}")
    if not isinstance(boxes_sha256, str | None):
        raise TypeError(f"boxes_sha256 must be a text or null, got {boxes_sha256!r}")
    if not isinstance(source_digest, str):
        raise TypeError(f"source_digest must be a text, got {source_digest!r}")
    return Manifest(tree["task"], tuple(tree["classes"]), splits, multi_label, boxes_sha256, source_digest), tree[
        "digest"
    ]
