"""Examples that a model has seen and is now to be judged on: the same bytes, or pictures that look alike.

What a split holds is read once, and kept in `.bakeoff/judged/contents/` by the digest of the split.
"""

import hashlib
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
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import SEEN
from bakeoff.dataset.records.shards import locate_examples, name_index, read_frame
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.progress import progress
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.inference.evaluate.evaluation_data import OWN, Material

NAMED = 3  # pairs in a message
Pair = tuple[str, str]  # the judged example, the one that was seen


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
    place = workspace.judged_records() / "contents" / f"{material.digest}.npz"
    try:
        with np.load(place) as kept:
            return ExampleHashes(kept["names"], kept["bytes"], kept["likeness"])
    except (OSError, ValueError, KeyError):
        pass  # nothing is kept yet, or a crash cut it off: it is read from the records
    rows: list[tuple[str, str, int]] = []
    with progress("compare", material.split.examples, "examples") as bar:
        for span in locate_examples(material.folder, material.split.shards):
            features = _decode(*span)
            digest = hashlib.sha256(b"".join(frames_in(features))).hexdigest()
            likeness = check_image(middle_frame(features), None).likeness
            rows.append((features["image/filename"][0].decode(), digest, likeness))
            bar.advance()
    names, digests, hashes = zip(*rows, strict=True) if rows else ((), (), ())
    contents = ExampleHashes(np.array(names, str), np.array(digests, str), np.array(hashes, np.uint64))
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_suffix(".partial.npz")
    np.savez(partial, names=contents.names, bytes=contents.bytes, likeness=contents.likeness)
    partial.replace(place)
    return contents


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
