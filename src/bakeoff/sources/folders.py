"""Image classification: the folder that an image is in names its class.

train/daisy/1.jpg   train/tulip/7.png   validation/daisy/2.jpg        or without the first level, to be split
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.sources.dataset import Dataset, Item
from bakeoff.sources.paths import folders, unfit_name, walk
from bakeoff.sources.sniff import HEAD, IMAGE_SUFFIXES, format_of
from bakeoff.sources.splits import side_named


@dataclass(frozen=True, kw_only=True)
class ImageFolders(Dataset):
    @property
    def task(self) -> str:
        return "classification"

    def items(self, root: Path) -> Iterator[Item]:
        for side, inside, label in class_folders(root):
            for path, problem in walk(root, inside):
                yield Item(path, path, **ignored_or_refused(root, path, problem), split=side, labels=(label,))  # type: ignore[arg-type]

    def declared_classes(self, root: Path) -> list[str]:
        return sorted({label for _, _, label in class_folders(root)})


def class_folders(root: Path) -> list[tuple[str | None, str, str]]:
    """(side, folder, label) of every folder that holds a class."""
    sides = side_folders(root)
    found = [
        (side, f"{inside}/{label}" if inside else label, label)
        for side, inside in sides
        for label in folders(root, inside)
    ]
    for _, inside, label in found:
        if unfit_name(label):
            raise DataError(f"{(root / inside).as_posix()!r}: {unfit_name(label)}")
    if not found:
        raise DataError(f"{root.as_posix()}: has no folder; a class is a folder with its images (docs/records.md)")
    return found


def side_folders(root: Path) -> list[tuple[str | None, str]]:
    """(side, folder): train/ and validation/ where they are, else the whole without a side."""
    names = folders(root)
    sides = {name: side_named(name) for name in names}
    given = [(side, name) for name, side in sides.items() if side]
    if not any(side == "train" for side, _ in given):
        return [(None, "")]
    others = [name for name, side in sides.items() if not side and folders(root, name)]
    if others:
        raise DataError(
            f"{root.as_posix()}: has {given[0][1]}/ for a side and {others[0]}/ for what may be a class; "
            "put every class below train/ and validation/, or none"
        )
    return list(given)


def ignored_or_refused(root: Path, path: str, problem: str | None) -> dict[str, object]:
    """The fields of an item that say so. A file that neither its name nor its content makes an image is ignored."""
    if problem:
        return {"problem": problem}
    if os.path.splitext(path)[1].lower() not in IMAGE_SUFFIXES:
        with (root / path).open("rb") as file:
            if format_of(file.read(HEAD)) is None:
                return {"problem": "no image, neither by name nor by content", "ignored": True}
    return {}
