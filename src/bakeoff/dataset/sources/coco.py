"""Detection: COCO's JSON, one file for all images of a side. It is read as a whole: about ten times its size in memory.

{"images": [{"id": 1, "file_name": "images/1.jpg", "width": 650, "height": 417}],
 "categories": [{"id": 3, "name": "raccoon"}],
 "annotations": [{"image_id": 1, "category_id": 3, "bbox": [81, 88, 441, 320]}]}          x y width height
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.dataset.sources.class_folders import list_image_folders, locate_image
from bakeoff.dataset.sources.dataset import Corners, Dataset, Item, join_names, pair_sides
from bakeoff.dataset.sources.labels import require_fit
from bakeoff.dataset.sources.parsing import parse_json, parse_number, quote
from bakeoff.dataset.sources.paths import blaming, read_text
from bakeoff.foundation.errors import DataError

MOST_BYTES = 2_000_000_000
HIGHEST_ID, LONGEST_ID = 1 << 63, 200
SHAPE = (("images", ("id", "file_name")), ("categories", ("id", "name")), ("annotations", ()))
Id = int | str
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Coco(Dataset):
    task: ClassVar[str] = "detection"
    annotations: str = "annotations.json"
    validation_annotations: str | None = None  # a file of its own for the validation side
    test_annotations: str | None = None  # and for the test side
    images: str = ""  # the folder that file names start from
    # A category that another one names as its supercategory is no class: Roboflow writes the project as category 0.
    skip_supercategories: bool = False

    def items(self, root: Path) -> Iterator[Item]:
        self.declared_classes(root)  # the sides must agree
        folders = list_image_folders(root, self.images)
        for given, file in self._files():
            tree, names = read_coco(root, file), self._read_categories(root, file)
            scenes = defaultdict[Id, _Scene](_Scene)
            for key, read in (("images", _add_image), ("annotations", _add_box)):
                for number, row in enumerate(tree[key]):
                    try:
                        read(scenes, row, names)
                    except ValueError as error:
                        yield Item(f"{file}#{key}[{number}]", file, problem=str(error))
            for image, scene in scenes.items():
                if not scene.rows and scene.boxes:
                    problem = f"{len(scene.boxes)} boxes of an image that is not listed"
                    yield Item(f"{file}#image_id={image}", file, problem=problem)
                for row in scene.rows:
                    path, trouble, side = locate_image(root, row["file_name"], folders, given)
                    yield scene.make_item(path, side, row, trouble or scene.find_problem(file, image))

    def declared_classes(self, root: Path) -> list[str]:
        """The labels by category id. The sides' files must agree."""
        known = list(self._read_categories(root, self.annotations).values())
        for _, file in self._files()[1:]:
            if (categories := list(self._read_categories(root, file).values())) != known:
                theirs = f"its categories {quote(categories)} are not {self.annotations}'s {quote(known)}"
                raise DataError(f"{(root / file).as_posix()}: {theirs}; make them the same")
        return known

    def describe_sides(self) -> str:
        return join_names([file for _, file in self._files()])

    def _files(self) -> list[tuple[str | None, str]]:
        return pair_sides(self.annotations, self.validation_annotations, self.test_annotations)

    def _read_categories(self, root: Path, file: str) -> dict[Id, str]:
        return _read_categories(root, file, skip_supercategories=self.skip_supercategories)


@dataclass
class _Scene:
    """All that a file says of one image id."""

    rows: list[Row] = field(default_factory=list)
    boxes: list[Corners] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str | None = None

    def find_problem(self, file: str, image: Id) -> str | None:
        names = list(dict.fromkeys(row["file_name"] for row in self.rows))
        if len(names) < 2:
            return self.problem
        clash = f"{quote(names[0])} and {quote(names[1])} have the same id {quote(image)} in {file}"
        return f"{clash}, so nobody knows whose boxes are whose; give each image an id of its own"

    def make_item(self, path: str, side: str | None, row: Row, problem: str | None) -> Item:
        try:
            sides = [parse_number(row.get(key), key, 1) for key in ("width", "height")]
            recorded, unchecked = (int(sides[0]), int(sides[1])), ()
        except ValueError:
            recorded, unchecked = None, ("the annotation names no size to check the boxes by",)  # type: ignore[assignment]
        notes = (*unchecked, *self.notes)
        return Item(path, path, split=side, boxes=tuple(self.boxes), recorded=recorded, notes=notes, problem=problem)


def read_coco(root: Path, file: str) -> dict[str, Any]:
    path = (root / file).resolve()
    return _parse(root, file, path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=1)  # the classes are asked for after the items
def _parse(root: Path, file: str, _path: Path, _changed: int) -> dict[str, Any]:
    text = read_text(root, file, "data.annotations", MOST_BYTES)
    with blaming(root, file, "data.annotations"):
        tree = parse_json(text)
        for key, needed in SHAPE:
            rows = tree.get(key) if isinstance(tree, dict) else None
            fits = isinstance(rows, list) and all(isinstance(row, dict) and row.keys() >= set(needed) for row in rows)
            if not fits:
                raise ValueError(f"{key} must be a list of objects with {', '.join(needed) or 'image_id, bbox'}")
    return tree


def find_supercategories(rows: list[Row]) -> list[int]:
    """Return the places of the categories that others name as their supercategory.

    One that names itself is a class like its neighbours: below category 0, `ball`, Roboflow has category 1, `ball`.
    """
    ids_below = defaultdict[str, set[str]](set)
    for row in rows:
        ids_below[repr(row.get("supercategory"))].add(repr(row["id"]))
    return [
        place
        for place, row in enumerate(rows)
        if row.get("supercategory") != row["name"] and ids_below.get(repr(row["name"]), set()) - {repr(row["id"])}
    ]


def _read_categories(root: Path, file: str, *, skip_supercategories: bool) -> dict[Id, str]:
    """Return the labels by category id, in the order of the ids."""
    names: dict[Id, str] = {}
    with blaming(root, file, "data.annotations"):
        rows = read_coco(root, file)["categories"]
        skipped = find_supercategories(rows) if skip_supercategories else []
        for number, row in enumerate(rows):
            if number in skipped:
                continue
            key, name = _read_id(row["id"], f"categories[{number}].id"), row["name"]
            if isinstance(name, bool) or not isinstance(name, (str, int, float)):
                raise ValueError(f"categories[{number}].name must be a text, got {quote(name)}; name the class")
            if key in names:
                raise ValueError(f"categories: a name or an id is there twice: {quote(key)}; number them again")
            if {type(key)} < {type(key), *map(type, names)}:
                raise ValueError(
                    f"categories: ids must be all numbers or all texts, got {quote(key)}; number them again"
                )
            names[key] = str(name).strip()
        require_fit(list(names.values()))
    return dict(sorted(names.items()))


def _add_image(scenes: dict[Id, _Scene], row: Row, names: dict[Id, str]) -> None:
    if not isinstance(row["file_name"], str):
        raise ValueError(f"file_name must be a text, got {quote(row['file_name'])}; name the image's file")
    scenes[_read_id(row["id"], "id")].rows.append(row)


def _add_box(scenes: dict[Id, _Scene], row: Row, names: dict[Id, str]) -> None:
    scene, box = scenes[_read_id(row.get("image_id"), "image_id")], row.get("bbox")
    if row.get("iscrowd"):
        scene.notes.append("a crowd region was left out")
        return
    try:
        label = names.get(_read_id(row.get("category_id"), "category_id"))
        if label is None:
            raise ValueError(f"category_id {quote(row['category_id'])} is none of the {len(names)} categories")
        if not isinstance(box, list) or len(box) != 4:
            raise ValueError(f"bbox must be four numbers, got {quote(box)}")
        x, y, width, height = (parse_number(value, "bbox") for value in box)
        scene.boxes.append((x, y, x + width, y + height, label))
    except ValueError as error:
        scene.problem = str(error)


def _read_id(value: object, what: str) -> Id:
    """Return a whole number or a text, by which an image can be found again."""
    if isinstance(value, float) and value.is_integer():  # a table's missing values make all of its numbers such
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < HIGHEST_ID:
        return value
    if isinstance(value, str) and 0 < len(value) <= LONGEST_ID:
        return value
    raise ValueError(f"{what} must be a whole number or a text, got {quote(value)}; number them again")
