"""One item -> a verdict, and later its record: what the worker processes do."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.building.fitting import BoxesRefused, fit_boxes
from bakeoff.building.foreign import read_foreign
from bakeoff.building.images import Checked, ImageRefused, check_image, stored_bytes, stored_size
from bakeoff.errors import DataError
from bakeoff.records.record import Box, Record
from bakeoff.records.tfrecord import checksum
from bakeoff.sources.clips import Clips
from bakeoff.sources.dataset import Dataset, Item
from bakeoff.sources.tfrecords import TfRecords

if TYPE_CHECKING:
    from bakeoff.building.video import CheckedClip


@dataclass(frozen=True)
class Verdict:
    """What is known of an item after its whole content was looked at."""

    name: str
    reason: str | None = None  # why it is refused
    ignored: bool = False
    width: int = 0  # in the record
    height: int = 0
    full_width: int = 0  # as shown, before any resizing
    full_height: int = 0
    frames: int = 1  # in the record
    step: int = 1  # every so many frames of the file
    frames_per_second: float = 0.0
    bytes: int = 0  # about so many in the record
    sha256: str = ""  # of the content: equal for equal files
    checksum: int = 0  # of the file's bytes, to notice a change until it is written; 0 if that is not needed
    likeness: int = 0
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    untouched: bool = False  # the file's bytes are the record's


def examine(dataset: Dataset, root: Path, item: Item) -> Verdict:
    if item.problem:
        return Verdict(item.name, item.problem, item.ignored)
    try:
        if item.media == "image":
            return _image(dataset, item, _bytes_of(root, item))
        if isinstance(dataset, TfRecords):
            return _example(dataset, root, item)
        assert isinstance(dataset, Clips)
        return _clip(dataset, root, item)
    except (ImageRefused, BoxesRefused) as error:
        return Verdict(item.name, str(error))
    except OSError as error:
        return Verdict(item.name, f"cannot be read: {error.strerror or error}")


def record_of(dataset: Dataset, root: Path, item: Item, verdict: Verdict) -> tuple[Record, str | None]:
    """The record, and the digest of its image if it is known. Raises DataError if the file is another by now."""
    frames = _stored(dataset, root, item, verdict)
    record = Record(
        item.name, frames, verdict.height, verdict.width, verdict.boxes, verdict.labels,
        frames_per_second=verdict.frames_per_second,
    )  # fmt: skip
    return record, verdict.sha256 if verdict.untouched else None


def _image(dataset: Dataset, item: Item, data: bytes) -> Verdict:
    checked = check_image(data, dataset.max_side)
    boxes, notes = fit_boxes(item, checked.width, checked.height, checked.orientation)
    width, height = stored_size(checked, dataset.max_side)
    return Verdict(
        item.name,
        width=width,
        height=height,
        full_width=checked.width,
        full_height=checked.height,
        bytes=len(data) if not checked.changes else width * height,
        sha256=checked.sha256,
        checksum=checksum(data),
        likeness=checked.likeness,
        changes=checked.changes,
        notes=(*item.notes, *notes),
        labels=item.labels,
        boxes=boxes,
        untouched=not checked.changes,
    )


def _example(dataset: TfRecords, root: Path, item: Item) -> Verdict:
    foreign = read_foreign(dataset, root, item)
    if foreign.raw is None:
        inner = replace(item, boxes=foreign.boxes, in_shares=True, labels=foreign.labels, notes=foreign.notes)
        return _image(dataset, inner, foreign.image)
    from bakeoff.building import video

    checked = video.check_raw(foreign.raw, dataset.width, dataset.height, dataset.frames_per_second)
    return _checked_clip(dataset, replace(item, labels=foreign.labels), checked)


def _clip(dataset: Clips, root: Path, item: Item) -> Verdict:
    from bakeoff.building import video  # loading FFmpeg is for those who have clips

    path = root / item.path
    if item.media == "frames":
        checked = video.check_frames(path, dataset.frames_per_second)
    else:
        checked = video.check_video(path)
    return _checked_clip(dataset, item, checked)


def _checked_clip(dataset: Clips | TfRecords, item: Item, checked: "CheckedClip") -> Verdict:
    step = -(-checked.frames // dataset.max_frames)
    frames = -(-checked.frames // step)
    whole = Checked(checked.width, checked.height, 1, "", 0, (), 0)
    width, height = stored_size(whole, dataset.max_side)
    changes = [f"every {step}th of {checked.frames} frames taken (data.max_frames)"] if step > 1 else []
    if (width, height) != (checked.width, checked.height):
        changes.append(f"resized to {dataset.max_side} pixels on its longer side")
    return Verdict(
        item.name,
        width=width,
        height=height,
        full_width=checked.width,
        full_height=checked.height,
        frames=frames,
        step=step,
        frames_per_second=checked.frames_per_second / step,
        bytes=frames * width * height // 3,
        sha256=checked.sha256,
        likeness=checked.likeness,
        changes=tuple(changes),
        notes=item.notes,
        labels=item.labels,
    )


def _stored(dataset: Dataset, root: Path, item: Item, verdict: Verdict) -> tuple[bytes, ...]:
    size = verdict.width, verdict.height
    if item.media in ("image", "example") and not verdict.frames_per_second:
        image = _content(dataset, root, item)
        if checksum(image) != verdict.checksum:
            raise DataError(f"{item.name}: changed while the records were being built; run the same command again")
        if verdict.untouched:
            return (image,)
        return (stored_bytes(image, check_image(image, dataset.max_side), dataset.max_side),)
    from bakeoff.building import video

    if item.media == "frames":
        return tuple(video.folder_jpegs(root / item.path, size, verdict.step, dataset.max_side))
    if isinstance(dataset, TfRecords):
        raw = read_foreign(dataset, root, item).raw or b""
        return tuple(video.array_jpegs(video.raw_frames(raw, dataset.width, dataset.height), size, verdict.step))
    return tuple(video.video_jpegs(root / item.path, size, verdict.step))


def _content(dataset: Dataset, root: Path, item: Item) -> bytes:
    if isinstance(dataset, TfRecords):
        return read_foreign(dataset, root, item).image
    return _bytes_of(root, item)


def _bytes_of(root: Path, item: Item) -> bytes:
    with open(os.path.join(root, item.path), "rb") as file:  # a Path takes as long as reading
        return file.read()
