"""Layouts with one table of boxes for each side: COCO's JSON, and the CSV of the Object Detection API's tutorials."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources import SOURCES
from bakeoff.dataset.sources.box_csv import COLUMNS
from bakeoff.dataset.sources.coco import find_supercategories, read_coco
from bakeoff.dataset.sources.paths import read_lines, read_rows
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.tree import Layout, Tree

MOST_TABLES = 40  # files of one kind; where there are more, each belongs to one image
NAMES_READ = 200  # of a table, to find the images' folder
ROBOFLOW_COCO, ROBOFLOW_CSV = "_annotations.coco.json", "_annotations.csv"
KEYS = {TRAIN: "annotations", VALIDATION: "validation_annotations", TEST: "test_annotations"}


def find_coco(tree: Tree) -> Layout | None:
    trees = {path: content for path in tree.find(".json")[:MOST_TABLES] if (content := _read_coco(tree, path))}
    files = _choose_sides(tree, trees)
    chosen = [trees[path] for path in files.values()]
    names = [str(row["file_name"]) for table in chosen for row in table["images"][:NAMES_READ]]
    has_empty = _has_empty_supercategories(chosen)
    return _make_layout(tree, "coco", _name_coco(files), files, names, skip_supercategories=has_empty)


def find_csv(tree: Tree) -> Layout | None:
    files = _choose_sides(tree, [path for path in tree.find(".csv")[:MOST_TABLES] if _is_box_table(tree, path)])
    is_roboflow = any(path.name == ROBOFLOW_CSV for path in files.values())
    tables = [read_rows(tree.root, path.as_posix(), COLUMNS, "data.annotations") for path in files.values()]
    names = [row["filename"] for table in tables for _, row in islice(table, NAMES_READ)]
    return _make_layout(tree, "box_csv", "Roboflow's CSV" if is_roboflow else "CSV of boxes", files, names)


def _make_layout(
    tree: Tree, kind: str, name: str, files: Mapping[str, PurePosixPath], names: Sequence[str], **more: object
) -> Layout | None:
    """Return the layout of tables that list these names of images; None if there is no table."""
    if not files:
        return None
    settings: dict[str, object] = {KEYS[side]: path.as_posix() for side, path in files.items()}
    images = tree.find_images_folder(names)
    if images is None:
        lack = "lists no image"
        if names:
            lack = f"lists {names[0]!r} and others that are not there; export the pictures, too, or put them beside it"
        return Layout(kind, name, settings, f"{next(iter(files.values()))} {lack}")
    settings |= {"images": images, **more}
    return Layout(kind, name, {key: value for key, value in settings.items() if value != getattr(SOURCES[kind], key)})


def _choose_sides(tree: Tree, paths: Iterable[PurePosixPath]) -> dict[str, PurePosixPath]:
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
