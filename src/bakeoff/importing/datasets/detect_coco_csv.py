"""Layouts with one table of boxes for each side: COCO's JSON, and the CSV of the Object Detection API's tutorials."""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.box_csv import COLUMNS
from bakeoff.dataset.sources.coco import find_supercategories, read_coco
from bakeoff.dataset.sources.paths import read_lines
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.layout import Layout
from bakeoff.importing.datasets.tree import Tree

MOST_TABLES = 40  # files of one kind; where there are more, each belongs to one image
NAMES_READ = 200  # of a table, to find the images' folder
ROBOFLOW_COCO, ROBOFLOW_CSV = "_annotations.coco.json", "_annotations.csv"
KEYS = {TRAIN: "annotations", VALIDATION: "validation_annotations", TEST: "test_annotations"}


def find_coco(tree: Tree) -> Layout | None:
    trees = {path: content for path in tree.find(".json")[:MOST_TABLES] if (content := _read_coco(tree, path))}
    files = choose_sides(tree, [*trees])
    if not files:
        return None
    chosen = [trees[path] for path in files.values()]
    name = _name_coco(files)
    settings: dict[str, Any] = {KEYS[side]: path.as_posix() for side, path in files.items()}
    names = [str(row["file_name"]) for table in chosen for row in table["images"][:NAMES_READ]]
    images = tree.find_images_folder(names)
    if images is None:
        return Layout("coco", name, settings, _lack_images(next(iter(files.values())), names))
    settings |= {"images": images} if images else {}
    if _has_empty_supercategories(chosen):
        settings["skip_supercategories"] = True
    return Layout("coco", name, _without_defaults(settings, annotations="annotations.json"))


def find_csv(tree: Tree) -> Layout | None:
    tables = [path for path in tree.find(".csv")[:MOST_TABLES] if _is_box_table(tree, path)]
    files = choose_sides(tree, tables)
    if not files:
        return None
    is_roboflow = any(path.name == ROBOFLOW_CSV for path in files.values())
    name = "Roboflow's CSV" if is_roboflow else "CSV of boxes"
    settings: dict[str, Any] = {KEYS[side]: path.as_posix() for side, path in files.items()}
    names = [name for path in files.values() for name in islice(_list_names(tree, path), NAMES_READ)]
    images = tree.find_images_folder(names)
    if images is None:
        return Layout("box_csv", name, settings, _lack_images(next(iter(files.values())), names))
    settings["images"] = images
    return Layout("box_csv", name, _without_defaults(settings, annotations="labels.csv", images="images"))


def choose_sides(tree: Tree, paths: list[PurePosixPath]) -> dict[str, PurePosixPath]:
    """Return a file for each side; under `train` also the only one of all, whatever its side."""
    files: dict[str, PurePosixPath] = {}
    for path in sorted(paths, key=lambda path: (not path.name.startswith("instances"), len(path.parts), path)):
        files.setdefault(tree.find_side_of(path) or "", path)
    if not files or TRAIN in files:
        return {side: files[side] for side in KEYS if side in files}
    first = files.get("") or files.get(VALIDATION) or files[TEST]
    return {TRAIN: first}


def list_coco_names(tree: Tree) -> Iterator[str]:
    """Yield the name of every image that some COCO JSON of a folder lists."""
    for path in tree.find(".json")[:MOST_TABLES]:
        table = _read_coco(tree, path)
        yield from (str(row["file_name"]) for row in (table["images"] if table else ()))


def _read_coco(tree: Tree, path: PurePosixPath) -> dict[str, Any] | None:
    try:
        return read_coco(tree.root, path.as_posix())
    except DataError:  # a JSON of another kind
        return None


def _name_coco(files: dict[str, PurePosixPath]) -> str:
    names = {path.name for path in files.values()}
    if ROBOFLOW_COCO in names:
        return "Roboflow's COCO"
    if "result.json" in names:
        return "Label Studio's COCO"
    return "COCO as CVAT writes it" if any(name.startswith("instances_") for name in names) else "COCO"


def _has_empty_supercategories(trees: list[dict[str, Any]]) -> bool:
    """Return whether some category stands above others and has no box in any of the files."""
    by_file = [
        {repr(tree["categories"][place]["id"]) for place in find_supercategories(tree["categories"])} for tree in trees
    ]
    used = {repr(row.get("category_id")) for tree in trees for row in tree["annotations"]}
    above = set().union(*by_file)
    return bool(above) and not above & used


def _is_box_table(tree: Tree, path: PurePosixPath) -> bool:
    try:
        first = next(iter(read_lines(tree.root, path.as_posix(), "data.annotations")), "")
    except DataError:
        return False
    return {column.strip().lower() for column in first.split(",")} >= set(COLUMNS)


def _list_names(tree: Tree, path: PurePosixPath) -> Iterator[str]:
    for row in csv.DictReader(read_lines(tree.root, path.as_posix(), "data.annotations")):
        yield next((value for key, value in row.items() if key and key.strip().lower() == "filename" and value), "")


def _lack_images(table: PurePosixPath, names: list[str]) -> str:
    if not names:
        return f"{table} lists no image"
    return f"{table} lists {names[0]!r} and others that are not there; export the pictures, too, or put them beside it"


def _without_defaults(settings: dict[str, Any], **defaults: str) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in defaults or value != defaults[key]}
