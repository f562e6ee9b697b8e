"""Image classification: the folder that an image is in names its class.

train/daisy/1.jpg   train/tulip/7.png   validation/daisy/2.jpg        or without the first level, to be split
"""

import os
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from bakeoff.dataset.records.record import TAUGHT, TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.dataset import Dataset, Item, find_side
from bakeoff.dataset.sources.labels import find_unfit_label
from bakeoff.dataset.sources.parsing import quote
from bakeoff.dataset.sources.paths import (
    IMAGE_SUFFIXES,
    VIDEO_SUFFIXES,
    format_of,
    list_files,
    list_folders,
    locate,
    read_head,
)
from bakeoff.foundation.errors import DataError

Unlabelled = Literal["reject", "negative", "skip", "taught"]


@dataclass(frozen=True, kw_only=True)
class ImageFolders(Dataset):
    task: ClassVar[str] = "classification"
    dated: bool = False  # folders of dates stand above the classes': 2026-03-01/daisy/1.jpg

    def items(self, root: Path) -> Iterator[Item]:
        for side, inside, label in self._list_class_folders(root):
            for path, problem in list_files(root, inside):
                problem, ignored = judge_image(root, path, problem)
                yield Item(path, path, split=side, labels=(label,), problem=problem, ignored=ignored)

    def list_whole_folders(self, root: Path) -> set[str]:
        return {inside for _, inside, _ in self._list_class_folders(root)}

    def declared_classes(self, root: Path) -> list[str]:
        return sorted({label for _, _, label in self._list_class_folders(root)})

    def _list_class_folders(self, root: Path) -> list[tuple[str | None, str, str]]:
        return list_dated_class_folders(root) if self.dated else list_class_folders(root)


def list_class_folders(root: Path) -> list[tuple[str | None, str, str]]:
    """Return (side, folder, label) of every folder that holds a class.

    A folder `train` with images of its own, beside other folders with images, is a class like them: a vehicle.
    """
    names = list_folders(root)
    training = [name for name in names if find_side(name) == TRAIN]
    flat = [name for name in training if not list_folders(root, name) and _holds_media(root / name)]
    others = [name for name in names if not find_side(name) and _holds_media(root / name)] if training else []
    if flat and not others:
        raise DataError(
            f"{(root / flat[0]).as_posix()}: has images and no folder for their class; put them into folders that are "
            "named as the classes (docs/records.md)"
        )
    if others and not flat:
        raise _refuse_mixture(root, training[0], others[0])
    if names and not training and all(find_side(name) and _holds_classes(root, name) for name in names):
        raise DataError(
            f"{root.as_posix()}: has {names[0]}/ and no folder for training; call that train/, or name "
            f"{(root / names[0]).as_posix()} as data.path to divide what is in it"
        )
    folders = [
        (side, f"{inside}/{label}" if inside else label, label)
        for side, inside in ([(None, "")] if flat else list_side_folders(root))
        for label in list_folders(root, inside)
    ]
    _require_labels(root, folders)
    if not folders:
        raise DataError(f"{root.as_posix()}: has no folder; a class is a folder with its images (docs/records.md)")
    return folders


def list_dated_class_folders(root: Path) -> list[tuple[str | None, str, str]]:
    """Return (side, folder, label) of every folder that holds a class of one date: 2026-03-01/daisy."""
    folders = [
        (side, f"{date}/{label}", label)
        for side, inside in list_side_folders(root)
        for date in (f"{inside}/{name}" if inside else name for name in list_folders(root, inside))
        for label in list_folders(root, date)
    ]
    _require_labels(root, folders)
    if not folders:
        raise DataError(
            f"{root.as_posix()}: has no folder of a class below those of its dates (data.dated); "
            "put images into folders such as 2026-03-01/daisy"
        )
    return folders


def _require_labels(root: Path, folders: list[tuple[str | None, str, str]]) -> None:
    for _, inside, label in folders:
        if unfit := find_unfit_label(label):
            raise DataError(f"{quote((root / inside).as_posix())}: its name, a class, {unfit}; rename it")


def _holds_media(folder: Path) -> bool:
    suffixes = IMAGE_SUFFIXES | VIDEO_SUFFIXES
    with os.scandir(folder) as entries:
        return any(
            os.path.splitext(entry.name)[1].lower() in suffixes and entry.name[0] != "." and os.path.isfile(entry)
            for entry in entries
        )


def list_side_folders(root: Path) -> list[tuple[str | None, str]]:
    """Return (side, folder): train/ and validation/ where they are, else the whole without a side."""
    sides = {name: find_side(name) for name in list_folders(root)}
    given: list[tuple[str | None, str]] = [(side, name) for name, side in sides.items() if side]
    if not any(side == TRAIN for side, _ in given):
        return [(None, "")]
    others = [name for name, side in sides.items() if not side and list_folders(root, name)]
    if others:
        raise _refuse_mixture(root, given[0][1], others[0])
    return given


def _holds_classes(root: Path, name: str) -> bool:
    return not _holds_media(root / name) and any(
        _holds_media(root / name / inner) for inner in list_folders(root, name)
    )


def _refuse_mixture(root: Path, side: str, other: str) -> DataError:
    return DataError(
        f"{root.as_posix()}: has {side}/ for a side and {other}/ for what may be a class; "
        "put every class below train/ and validation/, or none"
    )


def judge_image(root: Path, path: str, problem: str | None) -> tuple[str | None, bool]:
    """Return why a file cannot be used, and whether it is ignored: neither its name nor its content says image."""
    if not problem and os.path.splitext(path)[1].lower() not in IMAGE_SUFFIXES:
        head = read_head(root / path)
        if isinstance(head, str):
            return head, False
        if format_of(head) is None:
            return "no image, neither by name nor by content", True
    return problem, False


def make_unannotated(root: Path, path: str, problem: str | None, rule: Unlabelled, side: str | None) -> Item:
    """Return what becomes of an image file that no annotation of its name belongs to."""
    problem, ignored = judge_image(root, path, problem)
    if not problem and rule == "reject":
        problem = "has no annotation; annotate it, or set data.unlabelled to negative, skip or taught"
    elif not problem and rule == "skip":
        problem, ignored = "has no annotation (data.unlabelled: skip)", True
    if not problem and rule == TAUGHT:
        notes: tuple[str, ...] = ("for a teacher to answer (data.unlabelled: taught)",)
        return Item(path, path, split=TAUGHT, notes=notes, unpaired=True)
    notes = () if problem else ("taken as an image without objects (data.unlabelled: negative)",)
    return Item(path, path, split=side, notes=notes, problem=problem, ignored=ignored, unpaired=True)


def list_unlisted(root: Path, listed: set[str], whole: Container[str] = ()) -> Iterator[Item]:
    """Yield the pictures and films of a dataset's folder that are not listed, and in no listed folder of frames.

    Folders of which all is listed are `whole`.
    """
    for path, problem in list_files(root, but=whole):
        is_media = os.path.splitext(path)[1].lower() in IMAGE_SUFFIXES | VIDEO_SUFFIXES
        if is_media and path not in listed and os.path.dirname(path) not in listed:
            yield Item(path, path, problem=problem or "belongs to no example", ignored=True, unpaired=True)


def list_image_folders(root: Path, images: str) -> list[tuple[str | None, str]]:
    """Return (side, folder): `images` itself, and images/train, images/test and their like in it."""
    inner = list_folders(root, images) if os.path.isdir(root / images) else []
    sides = [(find_side(name), f"{images}/{name}" if images else name) for name in inner]
    return [(None, images), *[(side, folder) for side, folder in sides if side]]


def locate_image(
    root: Path, name: str, folders: list[tuple[str | None, str]], side: str | None
) -> tuple[str, str | None, str | None]:
    """Return (relative path, problem, side) of an image that an annotation names, in the folders that may hold it.

    Of a side's own annotations images/train/1.jpg is meant, of test.csv's images/test/1.jpg, by the same name.
    """
    [(_, images), *others] = folders
    path, problem = locate(root, name, images)
    if problem != "no such file":
        return path, problem, side
    matches: list[tuple[str, str | None, str | None]] = []
    for meant in [side, *([TEST] if side == VALIDATION else [])]:  # a set without a validation folder has it in test/
        for there, folder in others if not matches else ():
            inner, trouble = locate(root, name, folder) if meant in (None, there) else ("", "another side's folder")
            if trouble is None:
                matches.append((inner, None, side or there))
    if len(matches) > 1:
        return path, f"is both {matches[0][0]} and {matches[1][0]}; name the folder, too", side
    return matches[0] if matches else (path, problem, side)
