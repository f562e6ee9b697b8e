"""Examples that a model has seen and is now to be judged on: the same bytes, or pictures that look alike.

What a shard holds is read once, and kept in `.bakeoff/judged/contents/` by the digest of the shard.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.dataset.building.image_check import check_image
from bakeoff.dataset.building.near_duplicates import (
    MOST_CANDIDATES,
    GreyImage,
    find_near_pairs,
    look_alike,
    middle_frame,
    open_picture,
)
from bakeoff.dataset.records.manifest import Manifest, Shard
from bakeoff.dataset.records.record import SEEN, SIDES
from bakeoff.dataset.records.shards import locate_examples, name_index, read_frame
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.progress import Bar, progress
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.inference.evaluate.evaluation_data import OWN, Material

NAMED = 3  # pairs in a message
Pair = tuple[str, str]  # the judged example, the one that was seen
LabelledBox = tuple[str, float, float, float, float]  # label, then SIDES as shares of the picture


@dataclass(frozen=True)
class ExampleFacts:
    """What a record holds besides its pixels."""

    name: str
    digest: str  # of its pictures' bytes
    likeness: int  # 64 bits, alike for pictures that look alike
    height: int
    width: int
    labels: tuple[str, ...]
    boxes: tuple[LabelledBox, ...]


@dataclass(frozen=True)
class ExampleHashes:
    names: np.ndarray
    bytes: np.ndarray  # a digest of each example's pictures
    likeness: np.ndarray  # uint64


@dataclass(frozen=True)
class Overlap:
    same: list[Pair]
    alike: list[Pair]

    @property
    def examples(self) -> int:
        """How many of the judged ones were seen."""
        return len({name for name, _ in (*self.same, *self.alike)})


def find_overlap(material: Material, seen: Manifest) -> Overlap:
    """Compare a split with the training and the validation of the workspace's own records."""
    judged, same, alike = read_contents(material), [], []
    for split in SEEN:
        other = Material(workspace.RECORDS, seen, split)
        known = read_contents(other)
        _, ones, others = np.intersect1d(judged.bytes, known.bytes, return_indices=True)
        same += [(str(judged.names[one]), f"{split} {known.names[it]}") for one, it in zip(ones, others, strict=True)]
        for it, one in islice(find_near_pairs(known.likeness, judged.likeness), MOST_CANDIDATES):
            if judged.bytes[one] != known.bytes[it] and look_alike(picture_at(other, it), picture_at(material, one)):
                alike.append((str(judged.names[one]), f"{split} {known.names[it]}"))
    return Overlap(same, alike)


def require_apart(material: Material, overlap: Overlap) -> None:
    """Raise DataError if a model has seen what it is to be judged on."""
    if not overlap.examples:
        return
    kinds = [
        f"{len(pairs):,} {what}: {', '.join(f'{name} is {other}' for name, other in pairs[:NAMED])}"
        + (" and more" if len(pairs) > NAMED else "")
        for what, pairs in (("of the same bytes", overlap.same), ("that look alike", overlap.alike))
        if pairs
    ]
    raise DataError(
        f"{material.where}: {overlap.examples:,} of {material.split.examples:,} {material.name} examples were seen in "
        f"training or validation of {OWN} ({'; '.join(kinds)}); take them out of one of the two, or judge on them "
        "all the same with --allow-overlap"
    )


def read_contents(material: Material) -> ExampleHashes:
    """Return what tells the examples of a split from others, in the order of the records."""
    rows: list[ExampleFacts] = []
    with progress("compare", material.split.examples, "examples") as bar:
        for shard in material.split.shards:
            rows += read_facts(material.folder, shard, bar)
    names, digests, hashes = ([getattr(row, key) for row in rows] for key in ("name", "digest", "likeness"))
    return ExampleHashes(np.array(names, str), np.array(digests, str), np.array(hashes, np.uint64))


def read_facts(folder: Path, shard: Shard, bar: Bar) -> list[ExampleFacts]:
    """Return what a shard's examples are, in their order."""
    place = workspace.judged_records() / "contents" / f"{shard.sha256}.json"
    try:
        rows = [_unpack(*row) for row in json.loads(place.read_text(encoding="utf-8"))]
        bar.advance(len(rows))
    except (OSError, ValueError, TypeError):  # nothing is kept yet, or a crash cut it off: it is read from the records
        rows = list(_examine(folder, shard, bar))
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps([list(vars(row).values()) for row in rows]))
    return rows


def _examine(folder: Path, shard: Shard, bar: Bar) -> Iterator[ExampleFacts]:
    for span in locate_examples(folder, [shard]):
        features = _decode(*span)
        digest = hashlib.sha256(b"".join(frames_in(features))).hexdigest()
        likeness = check_image(middle_frame(features), None).likeness
        height, width = (int(features[f"image/{side}"][0]) for side in ("height", "width"))
        name = features["image/filename"][0].decode()
        yield ExampleFacts(name, digest, likeness, height, width, tuple(labels_in(features)), tuple(boxes_in(features)))
        bar.advance()


def _unpack(
    name: str, digest: str, likeness: int, height: int, width: int, labels: list[str], boxes: list[list[Any]]
) -> ExampleFacts:
    return ExampleFacts(name, digest, likeness, height, width, tuple(labels), tuple((*box,) for box in boxes))


def labels_in(features: Mapping[str, Any]) -> list[str]:
    return sorted(label.decode() for label in features.get("image/class/text", ()))


def boxes_in(features: Mapping[str, Any]) -> list[LabelledBox]:
    labels = (label.decode() for label in features.get("image/object/class/text", ()))
    sides = zip(*(features.get(f"image/object/bbox/{side}", ()) for side in SIDES), strict=True)
    return [(label, *corners) for label, corners in zip(labels, sides, strict=True)]


def _decode(file: Path, offset: int, length: int) -> dict[str, Any]:
    try:
        return decode_features(read_frame(file, offset, length))
    except (OSError, ValueError) as error:
        raise DataError(f"{file.as_posix()}: {error}; build the records again") from None


@lru_cache(maxsize=1024)
def _open(file: Path, offset: int, length: int) -> GreyImage:
    with quiet_pillow():
        return open_picture(middle_frame(_decode(file, offset, length)))


def picture_at(material: Material, place: int) -> GreyImage:
    """Open the picture of an example, in grey and small."""
    return _open(*_span(material, place))


def features_at(material: Material, place: int) -> dict[str, Any]:
    """Read the whole example at a place of a split."""
    return _decode(*_span(material, place))


def _span(material: Material, place: int) -> tuple[Path, int, int]:
    for shard in material.split.shards:
        if place < shard.examples:
            span = np.load(material.folder / name_index(shard.file), mmap_mode="r")[place]
            return material.folder / shard.file, int(span[0]), int(span[1])
        place -= shard.examples
    raise IndexError(place)
