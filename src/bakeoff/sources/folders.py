"""Image classification: the folder that an image is in names its class.

train/daisy/1.jpg   train/tulip/7.png   validation/daisy/2.jpg        or without the first level, to be split
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from bakeoff.errors import DataError
from bakeoff.records.record import TRAIN
from bakeoff.sources.dataset import Dataset, Item, find_side
from bakeoff.sources.raw_files import HEAD, IMAGE_SUFFIXES, find_unfit_name, format_of, list_files, list_folders

Unlabelled = Literal["reject", "negative", "skip"]


@dataclass(frozen=True, kw_only=True)
class ImageFolders(Dataset):
    task: ClassVar[str] = "classification"

    def items(self, root: Path) -> Iterator[Item]:
        for side, inside, label in list_class_folders(root):
            for path, problem in list_files(root, inside):
                problem, ignored = judge_image(root, path, problem)
                yield Item(path, path, split=side, labels=(label,), problem=problem, ignored=ignored)

    def declared_classes(self, root: Path) -> list[str]:
        return sorted({label for _, _, label in list_class_folders(root)})


def list_class_folders(root: Path) -> list[tuple[str | None, str, str]]:
    """Return (side, folder, label) of every folder that holds a class."""
    found = [
        (side, f"{inside}/{label}" if inside else label, label)
        for side, inside in list_side_folders(root)
        for label in list_folders(root, inside)
    ]
    for _, inside, label in found:
        if unfit := find_unfit_name(label):
            raise DataError(f"{(root / inside).as_posix()!r}: {unfit}")
    if not found:
        raise DataError(f"{root.as_posix()}: has no folder; a class is a folder with its images (docs/records.md)")
    return found


def list_side_folders(root: Path) -> list[tuple[str | None, str]]:
    """Return (side, folder): train/ and validation/ where they are, else the whole without a side."""
    sides = {name: find_side(name) for name in list_folders(root)}
    given: list[tuple[str | None, str]] = [(side, name) for name, side in sides.items() if side]
    if not any(side == TRAIN for side, _ in given):
        return [(None, "")]
    others = [name for name, side in sides.items() if not side and list_folders(root, name)]
    if others:
        raise DataError(
            f"{root.as_posix()}: has {given[0][1]}/ for a side and {others[0]}/ for what may be a class; "
            "put every class below train/ and validation/, or none"
        )
    return given


def judge_image(root: Path, path: str, problem: str | None) -> tuple[str | None, bool]:
    """Return why a file cannot be used, and whether it is ignored: neither its name nor its content says image."""
    if not problem and os.path.splitext(path)[1].lower() not in IMAGE_SUFFIXES:
        with (root / path).open("rb") as file:
            if format_of(file.read(HEAD)) is None:
                return "no image, neither by name nor by content", True
    return problem, False


def make_unannotated(root: Path, path: str, problem: str | None, rule: Unlabelled, side: str | None) -> Item:
    """Return what becomes of an image file that no annotation of its name belongs to."""
    problem, ignored = judge_image(root, path, problem)
    if not problem and rule == "reject":
        problem = "has no annotation; annotate it, or set data.unlabelled to negative or skip"
    elif not problem and rule == "skip":
        problem, ignored = "has no annotation (data.unlabelled: skip)", True
    notes = () if problem else ("taken as an image without objects (data.unlabelled: negative)",)
    return Item(path, path, split=side, notes=notes, problem=problem, ignored=ignored, unpaired=True)
