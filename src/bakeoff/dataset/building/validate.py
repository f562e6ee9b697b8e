"""One item -> a verdict, and later its record: what the worker processes do.

Annotated boxes become shares of the image as it is shown. An image with an EXIF orientation may have been labelled as
stored or as shown: the recorded size tells which where the two differ in it, else `data.boxes_drawn_on`.
"""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.dataset.building.foreign_tfrecords import read_foreign
from bakeoff.dataset.building.image_check import (
    TURNED,
    RejectedItem,
    check_image,
    describe_limit,
    encode_stored,
    limit_size,
    read_image,
)
from bakeoff.dataset.records.record import Box, Record
from bakeoff.dataset.records.shards import compute_checksum
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.dataset import Corners, Dataset, Item, OnBadBox
from bakeoff.dataset.sources.labels import find_unfit_label
from bakeoff.dataset.sources.parsing import quote
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import hash_file
from bakeoff.foundation.formatting import make_printable

if TYPE_CHECKING:
    from bakeoff.dataset.building.video import CheckedClip

SLACK = 1.0  # pixels that a box may stick out, as tools that count from 1 make them
CHANGED = "changed while the records were being built; run the same command again"
DROPPED = "; left out"  # how the note of a bad box ends
AS_STORED = "boxes turned upright with the image"
UNSAID = "unsaid"
OTHER_CLASS = "is of another class (data.classes)"
Bounds = tuple[float, float, float, float]  # xmin ymin xmax ymax


class EmptyBox(RejectedItem):
    """A box of no area marks nothing, unlike one that lies elsewhere than its image."""


@dataclass(frozen=True)
class ItemVerdict:
    """What is known of an item after its whole content was looked at."""

    name: str
    reason: str | None = None  # why it is refused
    ignored: bool = False
    width: int = 0  # in the record
    height: int = 0
    full_width: int = 0  # as shown, before any resizing
    full_height: int = 0
    frames: int = 1  # in the record
    step: int = 1  # one frame in this many is taken from the file
    frames_per_second: float = 0.0
    bytes: int = 0  # the approximate size in the record
    sha256: str = ""  # of the content: equal for equal files
    checksum: int = 0  # of the file's bytes, to notice a change until it is written; 0 if that is not needed
    likeness: int = 0
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    drawn_on: str = ""  # of boxes on an image with an EXIF orientation: "stored" or "shown" by its size, or UNSAID
    untouched: bool = False  # the file's bytes are the record's


def examine(dataset: Dataset, root: Path, item: Item) -> ItemVerdict:
    if item.problem:
        return ItemVerdict(item.name, item.problem, item.ignored)
    if dataset.classes and dataset.task != "detection" and item.labels and not _may_stay(dataset, item.labels):
        return ItemVerdict(item.name, OTHER_CLASS, ignored=True)
    try:
        verdict = _keep_chosen(dataset, _examine_content(dataset, root, item))
        for label in dict.fromkeys([*verdict.labels, *(box.label for box in verdict.boxes)]):
            if unfit := find_unfit_label(label):
                raise RejectedItem(f"its class {quote(label)} {unfit}; rename it in the annotation")
        return verdict
    except RejectedItem as error:
        return ItemVerdict(item.name, str(error))
    except OSError as error:
        return ItemVerdict(item.name, f"cannot be read: {error.strerror or error}")


def _keep_chosen(dataset: Dataset, verdict: ItemVerdict) -> ItemVerdict:
    """Leave out boxes and labels of classes that do not count: what is left without any stays, as an example of none.

    Where each example has one class, one of another class is no example.
    """
    if not dataset.classes:
        return verdict
    if dataset.task != "detection" and not _may_stay(dataset, verdict.labels):
        return ItemVerdict(verdict.name, OTHER_CLASS, ignored=True)
    boxes = tuple(box for box in verdict.boxes if box.label in dataset.classes)
    labels = tuple(label for label in verdict.labels if label in dataset.classes)
    left_out = len(verdict.boxes) - len(boxes) + len(verdict.labels) - len(labels)
    notes = (f"{left_out} of other classes left out (data.classes)",) if left_out else ()
    return replace(verdict, boxes=boxes, labels=labels, notes=(*verdict.notes, *notes))


def _may_stay(dataset: Dataset, labels: tuple[str, ...]) -> bool:
    return dataset.multi_label or any(label in dataset.classes for label in labels)


def _examine_content(dataset: Dataset, root: Path, item: Item) -> ItemVerdict:
    if item.media == "image":
        return _examine_image(dataset, item, read_image(os.path.join(root, item.path)))
    if isinstance(dataset, TfRecords):
        return _examine_foreign(dataset, root, item)
    assert isinstance(dataset, Clips)
    return _examine_clip(dataset, root, item)


def make_record(dataset: Dataset, root: Path, item: Item, verdict: ItemVerdict) -> tuple[Record, str | None]:
    """Return the record, and the digest of its image if it is known. Raises DataError if the file is another by now."""
    try:
        frames = _encode_frames(dataset, root, item, verdict)
    except (RejectedItem, OSError) as error:
        raise DataError(f"{item.name}: {getattr(error, 'strerror', None) or error}; {CHANGED}") from None
    record = Record(
        item.name, frames, verdict.height, verdict.width, verdict.boxes, verdict.labels,
        frames_per_second=verdict.frames_per_second,
    )  # fmt: skip
    return record, verdict.sha256 if verdict.untouched else None


def _examine_image(dataset: Dataset, item: Item, data: bytes) -> ItemVerdict:
    checked = check_image(data, dataset.max_side, dataset.square)
    shown = checked.width, checked.height, checked.orientation
    boxes, notes = fit_boxes(item, *shown, dataset.on_bad_box, dataset.boxes_drawn_on)
    is_turned = bool(boxes) and checked.orientation > 1
    width, height = limit_size((checked.width, checked.height), dataset.max_side, dataset.square)
    return ItemVerdict(
        item.name, width=width, height=height, full_width=checked.width, full_height=checked.height,
        bytes=len(data) if not checked.changes else width * height,
        sha256=checked.sha256, checksum=compute_checksum(data), likeness=checked.likeness,
        changes=checked.changes, notes=(*item.notes, *notes), labels=item.labels, boxes=boxes,
        drawn_on=(describe_drawn_on(item, *shown) or UNSAID) if is_turned else "", untouched=not checked.changes,
    )  # fmt: skip


def _examine_foreign(dataset: TfRecords, root: Path, item: Item) -> ItemVerdict:
    foreign = read_foreign(dataset, root, item)
    if foreign.raw is None:
        inner = replace(item, boxes=foreign.boxes, in_shares=True, labels=foreign.labels, notes=foreign.notes)
        return _examine_image(dataset, inner, foreign.image)
    from bakeoff.dataset.building import video

    checked = video.check_raw(foreign.raw, dataset.width, dataset.height, dataset.frames_per_second)
    return _describe_clip(dataset, replace(item, labels=foreign.labels), checked)


def _examine_clip(dataset: Clips, root: Path, item: Item) -> ItemVerdict:
    from bakeoff.dataset.building import video  # loading FFmpeg is for those who have clips

    path, is_folder = root / item.path, item.media == "frames"
    checked = video.check_frames(path, dataset.frames_per_second) if is_folder else video.check_video(path)
    return _describe_clip(dataset, item, checked)


def _describe_clip(dataset: Clips | TfRecords, item: Item, checked: "CheckedClip") -> ItemVerdict:
    step = -(-checked.frames // dataset.max_frames)
    frames = -(-checked.frames // step)
    width, height = limit_size((checked.width, checked.height), dataset.max_side, dataset.square)
    changes = [f"every {step}th of {checked.frames} frames taken (data.max_frames)"] if step > 1 else []
    if (width, height) != (checked.width, checked.height):
        changes.append(describe_limit(dataset.max_side, dataset.square))
    return ItemVerdict(
        item.name, width=width, height=height, full_width=checked.width, full_height=checked.height,
        frames=frames, step=step, frames_per_second=checked.frames_per_second / step,
        bytes=frames * width * height // 3, sha256=checked.sha256, likeness=checked.likeness,
        changes=tuple(changes), notes=item.notes, labels=item.labels,
    )  # fmt: skip


def _encode_frames(dataset: Dataset, root: Path, item: Item, verdict: ItemVerdict) -> tuple[bytes, ...]:
    size = verdict.width, verdict.height
    if item.media in ("image", "example") and not verdict.frames_per_second:
        image = _read_image(dataset, root, item)
        _require_unchanged(item, compute_checksum(image) == verdict.checksum)
        if verdict.untouched:
            return (image,)
        limits = dataset.max_side, dataset.square
        return (encode_stored(image, check_image(image, *limits), *limits),)
    from bakeoff.dataset.building import video

    if item.media == "frames":
        path = root / item.path
        frames = tuple(video.encode_folder(path, verdict.step, dataset.max_side, dataset.square))
        _require_unchanged(item, video.hash_frames(path) == verdict.sha256)
    elif isinstance(dataset, TfRecords):
        raw = read_foreign(dataset, root, item).raw or b""
        _require_unchanged(item, hashlib.sha256(raw).hexdigest() == verdict.sha256)
        frames = tuple(video.encode_arrays(video.view_raw(raw, dataset.width, dataset.height), size, verdict.step))
    else:
        frames = tuple(video.encode_video(root / item.path, size, verdict.step))
        _require_unchanged(item, hash_file(root / item.path) == verdict.sha256)
    return frames


def _require_unchanged(item: Item, is_same: bool) -> None:
    if not is_same:
        raise DataError(f"{item.name}: {CHANGED}")


def _read_image(dataset: Dataset, root: Path, item: Item) -> bytes:
    if isinstance(dataset, TfRecords):
        return read_foreign(dataset, root, item).image
    return read_image(os.path.join(root, item.path))


def fit_boxes(
    item: Item, width: int, height: int, orientation: int, on_bad_box: OnBadBox = "reject", drawn_on: str = "auto"
) -> tuple[tuple[Box, ...], tuple[str, ...]]:
    """Return boxes on the upright image of `width` by `height`, and what was changed. Raises RejectedItem."""
    as_stored = (describe_drawn_on(item, width, height, orientation) or drawn_on) == "stored" and orientation > 1
    sides = (height, width) if as_stored and orientation in TURNED else (width, height)
    notes: list[str] = []
    boxes: list[Box] = []
    bad: list[RejectedItem] = []
    for number, corners in enumerate(item.boxes, start=1):
        try:
            place, clipped = _compute_shares(number, corners, sides, item.in_shares)
        except RejectedItem as error:
            if on_bad_box == "reject" or (on_bad_box == "drop_empty" and not isinstance(error, EmptyBox)):
                raise
            bad.append(error)
            notes.append(f"{error}{DROPPED}")
            continue
        if clipped:
            notes.append(f"box {number} clipped to the image")
        if as_stored:
            place = turn_upright(place, orientation)
        xmin, ymin, xmax, ymax = place
        box = Box(ymin, xmin, ymax, xmax, corners[4])
        if box in boxes:
            notes.append(f"box {number} left out, annotated twice")
        else:
            boxes.append(box)
    if bad and not boxes:  # there was an object, so this is no image without one
        raise bad[0]
    if as_stored and boxes:
        notes.append(AS_STORED)
    return tuple(boxes), tuple(notes)


def turn_upright(place: Bounds, orientation: int) -> Bounds:
    """Return where a place on the stored image is on the upright one, both in shares."""
    x0, y0, x1, y1 = place
    if orientation in TURNED:
        x0, y0, x1, y1 = y0, x0, y1, x1  # orientation 5 needs no more; the others flip afterwards
    if orientation in (2, 3, 6, 7):
        x0, x1 = 1 - x1, 1 - x0
    if orientation in (3, 4, 7, 8):
        y0, y1 = 1 - y1, 1 - y0
    return x0, y0, x1, y1


def describe_drawn_on(item: Item, width: int, height: int, orientation: int) -> str | None:
    """Return "stored" if the recorded size tells that boxes were drawn without heeding EXIF, "shown" if with, or None.

    A size tells nothing of a square image, nor of one that is mirrored or upside down. Raises RejectedItem.
    """
    shown = width, height
    stored = (height, width) if orientation in TURNED else shown
    if item.recorded not in (None, shown, stored):
        recorded = "x".join(map(str, item.recorded))
        raise RejectedItem(f"the annotation is for {recorded} pixels, the image has {width}x{height}")
    return None if item.recorded is None or stored == shown else "stored" if item.recorded == stored else "shown"


def _compute_shares(number: int, corners: Corners, sides: tuple[int, int], in_shares: bool) -> tuple[Bounds, bool]:
    x0, y0, x1, y1, label = corners
    width, height = sides
    if in_shares:
        x0, y0, x1, y1 = x0 * width, y0 * height, x1 * width, y1 * height
    name = f"box {number} ({make_printable(label)})"
    if not all(abs(value) < 1e9 for value in (x0, y0, x1, y1)):  # also refuses NaN
        raise RejectedItem(f"{name} has a corner that is no number")
    if x1 <= x0 or y1 <= y0:
        which = "xmax" if x1 <= x0 else "ymax"
        high, low = (x1, x0) if x1 <= x0 else (y1, y0)
        is_empty = x1 >= x0 and y1 >= y0  # else its corners may have been exchanged
        kind = EmptyBox if is_empty else RejectedItem
        raise kind(f"{name} has {which} {high:g} <= {which.replace('max', 'min')} {low:g}")
    for side, value, limit in (("xmin", x0, width), ("ymin", y0, height), ("xmax", x1, width), ("ymax", y1, height)):
        if not -SLACK - 1e-6 <= value <= limit + SLACK + 1e-6:
            raise RejectedItem(f"{name} has {side} {value:g}, outside of the image's {width}x{height}")
    inside = _clip_side(x0, width), _clip_side(y0, height), _clip_side(x1, width), _clip_side(y1, height)
    if inside[2] <= inside[0] or inside[3] <= inside[1]:
        raise RejectedItem(f"{name} lies outside of the image's {width}x{height}")
    # Shares that left the image by a rounding error are not worth a note.
    clipped = any(abs(a - b) > 1e-3 for a, b in zip(inside, (x0, y0, x1, y1), strict=True))
    return (inside[0] / width, inside[1] / height, inside[2] / width, inside[3] / height), clipped


def _clip_side(value: float, limit: int) -> float:
    return min(max(value, 0.0), float(limit))
