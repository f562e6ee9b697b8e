"""Layouts with a file of boxes for each image: Pascal VOC's XML and YOLO's text."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from bakeoff.dataset.sources.parsing import parse_number, read_bytes, read_text
from bakeoff.dataset.sources.paths import read_lines
from bakeoff.dataset.sources.yolo import DARKNET, NAMES_IN, swap_folder
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.layout import Layout
from bakeoff.importing.datasets.tree import Tree, below_side

MOST_READ = 20  # files of a kind that are read to check that they are what their names promise
LISTS = "ImageSets/Main"
LIST_KEYS = {"train_list": "train.txt", "validation_list": "val.txt", "test_list": "test.txt"}
OTHER_NAMES = ("classes.txt", "obj.names", "_darknet.labels", "classes.names")
NOTES = ("readme", "license", "licence", "notes", "requirements", "classes")


def find_voc(tree: Tree) -> Layout | None:
    files = [path for path in tree.find(".xml") if len(path.parts)]
    if not any(_is_voc(tree, path) for path in files[:MOST_READ]):
        return None
    folders = _find_pair(tree, files)
    if folders is None:
        lack = f"{files[0]} and others have no picture of their name; export the pictures, too"
        return Layout("pascal_voc", "Pascal VOC", {}, lack)
    images, annotations = folders
    settings: dict[str, Any] = {}
    if (images, annotations) != ("images", "annotations"):
        settings = {"images": images, "annotations": annotations}
    if lists := _find_lists(tree):
        settings["split"] = lists
    name = "Pascal VOC beside the pictures" if not images and not annotations else f"Pascal VOC in {annotations}/"
    return Layout("pascal_voc", name, settings)


def find_yolo(tree: Tree) -> Layout | None:
    texts = [path for path in tree.find(".txt") if path.stem.lower().split(".")[0] not in NOTES]
    paired = [path for path in texts if swap_folder(path.with_suffix(""), "labels", "images") in tree.image_stems]
    beside = [path for path in texts if path.with_suffix("") in tree.image_stems]
    files = paired or beside
    if not any(_is_yolo(tree, path) for path in files[: 10 * MOST_READ]):
        return _find_yolo_without_images(tree, texts)
    settings: dict[str, Any] = {} if paired else {"images": "", "annotations": ""}
    known = NAMES_IN if not paired else tuple(name for name in NAMES_IN if name != DARKNET)
    if not any((tree.root / name).is_file() for name in known):
        labels = next((path for name in OTHER_NAMES for path in tree.files if path.name == name), None)
        if labels is None:
            lack = f"none of {', '.join(known)} names its classes; write classes.txt, one name a line in their order"
            yaml = next((path for path in tree.find(".yaml", ".yml") if len(path.parts) == 1), None)
            lack += f", or rename {yaml} to data.yaml" if yaml else ""
            return Layout("yolo", "YOLO", settings, lack)
        settings["labels"] = labels.as_posix()
    if paired:
        return Layout("yolo", "YOLO in images/ and labels/", settings)
    return Layout("yolo", "YOLO as Darknet has it, text beside the pictures", settings)


def _find_yolo_without_images(tree: Tree, texts: list[PurePosixPath]) -> Layout | None:
    is_named = any((tree.root / name).is_file() for name in NAMES_IN)
    if is_named and not tree.images and any(_is_yolo(tree, path) for path in texts[: 10 * MOST_READ]):
        return Layout("yolo", "YOLO", {}, "no picture is in it; export the pictures, too")
    return None


def _is_voc(tree: Tree, path: PurePosixPath) -> bool:
    try:
        return b"<annotation" in read_bytes(tree.root / path)[:2000]
    except ValueError:
        return False


def _is_yolo(tree: Tree, path: PurePosixPath) -> bool:
    """Return whether each line of a text holds a class and four or more shares."""
    try:
        lines = [line.split() for line in read_text(tree.root / path).splitlines() if line.strip()]
        return bool(lines) and all(len([parse_number(cell, "") for cell in cells]) >= 5 for cells in lines)
    except ValueError:
        return False


def _find_pair(tree: Tree, files: Iterable[PurePosixPath]) -> tuple[str, str] | None:
    """Return the folders of the images and of the XML files, below those of the sides."""
    by_stem: dict[str, list[PurePosixPath]] = {}
    for image in tree.images:
        by_stem.setdefault(image.stem, []).append(image)
    for path in files:
        for image in sorted(by_stem.get(path.stem, ()), key=lambda image: image.parent != path.parent):
            one, other = (below_side(file.parts[:-1]) for file in (image, path))
            while one and other and one[-1] == other[-1]:
                one, other = one[:-1], other[:-1]
            return "/".join(one), "/".join(other)
    return None


def _find_lists(tree: Tree) -> dict[str, str]:
    """Return the lists of the sides as VOC has them, if they name files in a way that can be read."""
    lists = {key: f"{LISTS}/{name}" for key, name in LIST_KEYS.items() if (tree.root / LISTS / name).is_file()}
    stems = {path.name for path in tree.image_stems}
    if not {"train_list", "validation_list"} <= lists.keys():
        return {}
    try:
        columns = [
            [line.split()[0] for line in read_lines(tree.root, file, "") if line.split()] for file in lists.values()
        ]
    except DataError:
        return {}
    return lists if all(listed and set(listed) <= stems for listed in columns) else {}
