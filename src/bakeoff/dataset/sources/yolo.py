"""Detection: YOLO's text files, one an image, `class x y width height` a line, the centre and the sides in shares.

images/train/1.jpg   labels/train/1.txt   data.yaml       or   train/images/1.jpg   train/labels/1.txt   data.yaml
obj_train_data/1.jpg obj_train_data/1.txt obj.data        with `images: ""` and `annotations: ""`

Where data.yaml or obj.data names images for `train`, `val` and `test`, these are the sides. Else folders have
the names of the sides.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

from bakeoff.dataset.sources.class_folders import Unlabelled, make_unannotated
from bakeoff.dataset.sources.dataset import Corners, Dataset, Item, find_side
from bakeoff.dataset.sources.labels import read_labels
from bakeoff.dataset.sources.parsing import parse_number, quote, read_text
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, list_files, stays_inside
from bakeoff.dataset.sources.yolo_yaml import Sides, read_names, read_sides
from bakeoff.foundation.errors import DataError, require
from bakeoff.foundation.formatting import make_printable

YAMLS = ("data.yaml", "dataset.yaml", "data.yml")
DARKNET = "obj.data"
TEXTS = (".txt", ".yaml", ".yml", ".names", ".labels", ".data", ".xml", ".json", ".csv")  # never an image
NAMES_IN = (*YAMLS, "classes.txt", "obj.names", DARKNET)
SUFFIXES = (*sorted(IMAGE_SUFFIXES), *sorted(suffix.upper() for suffix in IMAGE_SUFFIXES))


@dataclass(frozen=True, kw_only=True)
class Yolo(Dataset):
    task: ClassVar[str] = "detection"
    images: str = "images"  # the name of the folders with images, wherever they are
    annotations: str = "labels"  # the name of the folders that stand beside them; "" for both: text beside the image
    unlabelled: Unlabelled = "reject"  # images without a text file

    def check(self) -> None:
        alike = bool(self.images) == bool(self.annotations)
        require(alike, "annotations", self.annotations, f"{'a folder' if self.images else 'empty'} as data.images is")

    def items(self, root: Path) -> Iterator[Item]:
        classes = read_labels(root, self.labels) if self.labels else _read_classes(root)
        (stated_in, sides), has_images = self._read_sides(root), False
        before, its = "", ""  # the image before, and its text
        for path, problem in list_files(root):
            pure = PurePosixPath(path)
            if not self._may_be_image(pure):
                if problem and not path.lower().endswith(TEXTS):  # a linked folder, for one
                    yield Item(path, path, problem=problem, ignored=True)
                continue
            has_images = True
            side = sides.find(path) or next((side for side in map(find_side, pure.parts[:-1]) if side), None)
            if side is None and sides.problem:
                raise DataError(sides.problem)
            if side is None and sides.places:
                yield Item(path, path, problem=f"in none of the sides that {stated_in} names", ignored=True)
                continue
            text = swap_folder(pure, self.images, self.annotations).with_suffix(".txt").as_posix()
            if problem or not os.path.lexists(root / text):
                yield make_unannotated(root, path, problem, self.unlabelled, side)
                continue
            try:
                if not stays_inside(root, text):
                    raise ValueError("leaves the dataset's folder")
                boxes = read_yolo(read_text(root / text), classes)
            except ValueError as error:
                yield Item(path, path, problem=f"{make_printable(text)}: {error}")
                continue
            same = f"has the boxes of {make_printable(text)}, as {make_printable(before)} has: two images of one name"
            notes = (same,) if text == its else ()
            before, its = path, text
            yield Item(path, path, split=side, boxes=boxes, in_shares=True, notes=notes)
        if not has_images:
            lacking = f"folder {self.images!r} with images" if self.images else "image with a text beside it"
            raise DataError(f"{root.as_posix()}: has no {lacking} (data.images)")
        yield from self._list_without_images(root, classes)
        yield from (Item(place, place, problem=problem) for place, problem in sides.lost)

    def declared_classes(self, root: Path) -> list[str] | None:
        return None if self.labels else _read_classes(root)

    def describe_sides(self) -> str:
        file = YAMLS[0] if self.images else DARKNET
        return f"{file}'s train and val, or folders of these names"

    def _may_be_image(self, path: PurePosixPath) -> bool:
        if self.images:
            return self.images in path.parts[:-1]
        return path.suffix.lower() not in TEXTS

    def _read_sides(self, root: Path) -> tuple[str, Sides]:
        """Return the file that states the sides, and the sides."""
        files = YAMLS if self.images else (*YAMLS, DARKNET)
        file = next((name for name in files if os.path.isfile(root / name)), None)
        asked = self.split.by in ("auto", "given", "given_test") and not self.split.validation_list
        keeps_test = self.split.by == "given_test"
        return file or "", (read_sides(root, file, keeps_test=keeps_test) if file and asked else None) or Sides()

    def _list_without_images(self, root: Path, classes: list[str]) -> Iterator[Item]:
        for path, _ in list_files(root):
            pure = PurePosixPath(path)
            inside = not self.annotations or self.annotations in pure.parts[:-1]
            if inside and pure.suffix == ".txt" and pure.name != "classes.txt":
                image = root / swap_folder(pure, self.annotations, self.images)
                is_alone = not any(os.path.isfile(image.with_suffix(suffix)) for suffix in SUFFIXES)
                if is_alone and (self.annotations or _holds_boxes(root / path, classes)):
                    yield Item(path, path, problem="an annotation without an image of its name")


def swap_folder(path: PurePosixPath, old: str, new: str) -> PurePosixPath:
    """images/train/1.jpg -> labels/train/1.jpg; the last folder of that name is the one that changes."""
    parts = list(path.parts)
    if old in parts[:-1]:
        parts[len(parts) - 2 - parts[:-1][::-1].index(old)] = new
    return PurePosixPath(*parts)


def read_yolo(text: str, classes: list[str]) -> tuple[Corners, ...]:
    """Return boxes in shares; a polygon counts as the box around it. Raises ValueError."""
    boxes: list[Corners] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            values = [parse_number(field, "a number") for field in fields]
        except ValueError:
            raise ValueError(f"line {number} must hold numbers, got {quote(line)}") from None
        if len(values) != 5 and not (len(values) >= 7 and len(values) % 2):
            raise ValueError(f"line {number} must be `class x y width height`, got {len(values)} numbers")
        if values[0] != int(values[0]) or not 0 <= values[0] < len(classes):
            raise ValueError(f"line {number}: class {values[0]:g} is none of 0 to {len(classes) - 1}")
        label = classes[int(values[0])]
        if len(values) == 5:
            x, y, width, height = values[1:]
            boxes.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2, label))
        else:
            boxes.append((min(values[1::2]), min(values[2::2]), max(values[1::2]), max(values[2::2]), label))
    return tuple(boxes)


def _holds_boxes(path: Path, classes: list[str]) -> bool:
    """Tell a text of boxes from a list of images or a note to the reader, which lie among them."""
    try:
        return bool(read_yolo(read_text(path), classes))
    except ValueError:
        return False


def find_classes(root: Path) -> tuple[str, list[str]] | None:
    """Return the file that names the classes, and these in their order; None if there is no such file."""
    file = next((name for name in NAMES_IN if os.path.isfile(root / name)), None)
    if file is None:
        return None
    return file, read_names(root, file) if file in (*YAMLS, DARKNET) else read_labels(root, file)


def _read_classes(root: Path) -> list[str]:
    if found := find_classes(root):
        return found[1]
    raise DataError(
        f"{root.as_posix()}: has none of {', '.join(NAMES_IN)}, so the names of the classes are unknown; "
        "add one or set data.labels"
    )
