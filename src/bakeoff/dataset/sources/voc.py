"""Detection: one Pascal VOC file (`.xml`) an image, as labelImg and its like write them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar
from xml.etree import ElementTree

from bakeoff.dataset.sources.class_folders import Unlabelled, list_side_folders, make_unannotated
from bakeoff.dataset.sources.dataset import Corners, Dataset, Item
from bakeoff.dataset.sources.parsing import parse_number, parse_xml, quote, read_bytes
from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, list_files, list_folders, locate, require_own_folder
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import make_printable

FIRST_SUFFIXES = (".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG")


@dataclass(frozen=True, kw_only=True)
class PascalVoc(Dataset):
    task: ClassVar[str] = "detection"
    images: str = "images"  # folders inside the dataset's folder, or inside its train/ and validation/
    annotations: str = "annotations"
    unlabelled: Unlabelled = "reject"  # images without an XML file

    def items(self, root: Path) -> Iterator[Item]:
        for side, inside in list_side_folders(root):
            images, annotations = _join(inside, self.images), _join(inside, self.annotations)
            require_folders(root, images, annotations)
            for path, problem in list_files(root, annotations):
                if path.lower().endswith(".xml"):
                    yield self._make_item(root, images, annotations, path, side, problem)
                elif images and not path.startswith(f"{images}/"):
                    yield Item(path, path, problem=problem or "lies among the annotations", ignored=True)
            before, its = "", ""  # the image before, and its annotation
            for path, problem in list_files(root, images):
                if path.lower().endswith(".xml"):
                    continue
                annotation = _locate_beside(path, images, annotations, ".xml")
                if not os.path.lexists(root / annotation):
                    yield make_unannotated(root, path, problem, self.unlabelled, side)
                elif problem:
                    yield Item(path, path, problem=problem)
                elif annotation == its:
                    yield from (_make_second(one, annotation) for one in (before, path))
                before, its = path, annotation

    def _make_item(
        self, root: Path, images: str, annotations: str, path: str, side: str | None, problem: str | None
    ) -> Item:
        if problem:
            return Item(path, path, problem=problem)
        try:
            image_name, recorded, boxes = read_voc(read_bytes(root / path))
        except ValueError as error:
            return Item(path, path, problem=f"annotation cannot be used: {error}")
        image, problem = _locate_image(root, images, annotations, path, image_name)
        notes = () if recorded else ("the annotation names no size to check the boxes by",)
        return Item(image, image, split=side, boxes=boxes, recorded=recorded, notes=notes, problem=problem)


def _make_second(path: str, annotation: str) -> Item:
    """Return what is listed of two images of one name; the one that the annotation is for is listed already."""
    problem = f"another image of its name has {make_printable(annotation)}"
    return Item(path, path, problem=problem, ignored=True, unpaired=True)


def read_voc(data: bytes) -> tuple[str, tuple[int, int] | None, tuple[Corners, ...]]:
    """Return (file name, recorded size, boxes). Raises ValueError."""
    tree = parse_xml(data)
    if tree.tag != "annotation":
        raise ValueError(f"must start with <annotation>, starts with {quote(tree.tag)}")
    size = tree.find("size")
    sides = (
        [parse_number(size.findtext(key), key, 0) for key in ("width", "height")] if size is not None else [0.0, 0.0]
    )
    boxes = tuple(_read_corners(number, node) for number, node in enumerate(tree.findall("object"), start=1))
    recorded = (int(sides[0]), int(sides[1])) if all(sides) else None
    return (tree.findtext("filename") or "").strip(), recorded, boxes


def require_folders(root: Path, *names: str) -> None:
    for name in names:
        if not (root / name).is_dir():
            there = ", ".join(map(make_printable, list_folders(root))) or "none"
            raise DataError(f"{(root / name).as_posix()}: no such folder; folders in {root.as_posix()}: {there}")
        require_own_folder(root, name)


def _locate_image(root: Path, images: str, annotations: str, path: str, named: str) -> tuple[str, str | None]:
    """Return (path, problem) of an annotation's image: the one of the same name, else the one that it names."""
    suffix = PurePosixPath(named).suffix
    known = [suffix] if suffix.lower() in IMAGE_SUFFIXES else []
    for candidate in dict.fromkeys([*known, *FIRST_SUFFIXES, *sorted(IMAGE_SUFFIXES)]):
        beside = _locate_beside(path, annotations, images, candidate)
        if os.path.isfile(root / beside):
            return locate(root, beside)
    if named:
        name = named if "/" in named else PurePosixPath(named.replace("\\", "/")).name
        image, problem = locate(root, name, images)
        return image, problem and f"the image that {make_printable(path)} names: {problem}"
    return path, "the annotation has no image of its name and names none"


def _locate_beside(path: str, here: str, there: str, suffix: str) -> str:
    """Return the same name in another folder: annotations/a/1.xml -> images/a/1.jpg."""
    inner = PurePosixPath(path).relative_to(here) if here else PurePosixPath(path)
    return (PurePosixPath(there) / inner.with_suffix(suffix)).as_posix()


def _join(*parts: str) -> str:
    path = PurePosixPath(*[part for part in parts if part]).as_posix()
    return "" if path == "." else path


def _read_corners(number: int, node: ElementTree.Element) -> Corners:
    label = (node.findtext("name") or "").strip()
    if not label:
        raise ValueError(f"object {number} has no name")
    box = node.find("bndbox")
    if box is None:
        raise ValueError(f"object {number} ({quote(label)}) has no bndbox")
    corners = ("xmin", "ymin", "xmax", "ymax")
    xmin, ymin, xmax, ymax = (parse_number(box.findtext(key), f"{key} of object {number}") for key in corners)
    return xmin, ymin, xmax, ymax, label
