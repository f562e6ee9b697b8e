"""Detection: COCO's JSON, one file for all images of a side. It is read as a whole: about ten times its size in memory.

{"images": [{"id": 1, "file_name": "images/1.jpg", "width": 650, "height": 417}],
 "categories": [{"id": 3, "name": "raccoon"}],
 "annotations": [{"image_id": 1, "category_id": 3, "bbox": [81, 88, 441, 320]}]}          x y width height
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.errors import DataError
from bakeoff.sources.dataset import Corners, Dataset, Item, pair_sides
from bakeoff.sources.raw_files import locate, read_text


@dataclass(frozen=True, kw_only=True)
class Coco(Dataset):
    task: ClassVar[str] = "detection"
    annotations: str = "annotations.json"
    validation_annotations: str | None = None  # a file of its own for the validation side
    images: str = ""  # the folder that file names start from

    def items(self, root: Path) -> Iterator[Item]:
        classes = self.declared_classes(root)
        for side, file in pair_sides(self.annotations, self.validation_annotations):
            tree = read_coco(root, file)
            names = {category["id"]: str(category["name"]) for category in tree["categories"]}
            boxes, notes = defaultdict[Any, list[Corners]](list), defaultdict[Any, list[str]](list)
            problems: dict[Any, str] = {}
            for row in tree["annotations"]:
                image, label = row.get("image_id"), names.get(row.get("category_id"))
                if row.get("iscrowd"):
                    notes[image].append("a crowd region was left out")
                elif label is None:
                    problems[image] = f"category_id {row.get('category_id')!r} is none of the {len(classes)} categories"
                elif not _is_box(row.get("bbox")):
                    problems[image] = f"bbox must be four numbers, got {row.get('bbox')!r}"
                else:
                    x, y, width, height = map(float, row["bbox"])
                    boxes[image].append((x, y, x + width, y + height, label))
            for row in tree["images"]:
                yield _make_item(root, self.images, row, side, boxes, notes, problems)
            lost = boxes.keys() - {row.get("id") for row in tree["images"]}
            for image in sorted(lost, key=str):
                name = f"{file}#image_id={image}"
                yield Item(name, file, problem=f"{len(boxes[image])} boxes of an image that is not listed")

    def declared_classes(self, root: Path) -> list[str]:
        """The labels by category id. The sides' files must agree."""
        classes, other = _list_categories(root, self.annotations), self.validation_annotations
        if other is not None and (others := _list_categories(root, other)) != classes:
            raise DataError(
                f"{(root / other).as_posix()}: its categories {others} are not {self.annotations}'s {classes}"
            )
        return classes


def read_coco(root: Path, file: str) -> dict[str, Any]:
    path = (root / file).resolve()
    return _parse(root, file, path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=1)  # the classes are asked for after the items
def _parse(root: Path, file: str, _path: Path, _changed: int) -> dict[str, Any]:
    path = (root / file).as_posix()
    try:
        tree = json.loads(read_text(root, file, "data.annotations"))
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}") from None
    for key, needed in (("images", ("id", "file_name")), ("categories", ("id", "name")), ("annotations", ())):
        rows = tree.get(key) if isinstance(tree, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= set(needed) for row in rows):
            raise DataError(f"{path}: {key} must be a list of objects with {', '.join(needed) or 'image_id, bbox'}")
    return tree


def _list_categories(root: Path, file: str) -> list[str]:
    rows = read_coco(root, file)["categories"]
    names = [str(row["name"]) for row in sorted(rows, key=lambda row: row["id"])]
    if len(set(names)) < len(names) or len({row["id"] for row in rows}) < len(rows):
        raise DataError(f"{(root / file).as_posix()}: categories: a name or an id is there twice: {names}")
    return names


def _make_item(
    root: Path, images: str, row: dict[str, Any], side: str | None, boxes: dict, notes: dict, problems: dict
) -> Item:
    image = row["id"]
    path, problem = locate(root, str(row["file_name"]), images)
    sides = row.get("width"), row.get("height")
    recorded = (sides[0], sides[1]) if all(type(value) is int and value > 0 for value in sides) else None
    unchecked = () if recorded else ("the annotation names no size to check the boxes by",)
    return Item(
        path, path, split=side, boxes=tuple(boxes.get(image, ())), recorded=recorded,  # type: ignore[arg-type]
        notes=(*unchecked, *notes.get(image, ())), problem=problem or problems.get(image),
    )  # fmt: skip


def _is_box(value: object) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(isinstance(x, (int, float)) for x in value)
