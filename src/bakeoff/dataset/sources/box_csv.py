"""Detection: the CSV of the Object Detection API's tutorials, one box a row; rows of an image may be anywhere.

filename,width,height,class,xmin,ymin,xmax,ymax
raccoon-1.jpg,650,417,raccoon,81,88,522,408
empty.jpg,640,480,,,,,                                    no class and no corners: an image without objects

`annotations: train_labels.csv`, `validation_annotations: val_labels.csv` and `test_annotations: test_labels.csv` name a
file for each side; their images are in images/, or in images/train/, images/val/ and images/test/.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bakeoff.dataset.records.record import TEST, VALIDATION
from bakeoff.dataset.sources.class_folders import list_image_folders, locate_image
from bakeoff.dataset.sources.dataset import Corners, Dataset, Item, find_side, join_names, pair_sides
from bakeoff.dataset.sources.parsing import parse_number, quote
from bakeoff.dataset.sources.paths import Row, group_rows, read_rows

CORNERS = ("xmin", "ymin", "xmax", "ymax")
KEYS = {VALIDATION: "data.validation_annotations", TEST: "data.test_annotations"}
COLUMNS = ("filename", "width", "height", "class", *CORNERS)


@dataclass(frozen=True, kw_only=True)
class BoxCsv(Dataset):
    task: ClassVar[str] = "detection"
    annotations: str = "labels.csv"
    validation_annotations: str | None = None  # a file of its own for the validation side
    test_annotations: str | None = None  # and for the test side
    images: str = "images"  # the folder that file names start from

    def items(self, root: Path) -> Iterator[Item]:
        folders = list_image_folders(root, self.images)
        for given, file in pair_sides(self.annotations, self.validation_annotations, self.test_annotations):
            key = KEYS.get(given or "", "data.annotations")
            for name, rows in group_rows(read_rows(root, file, COLUMNS, key), "filename"):
                path, problem, side = locate_image(root, name, folders, given)
                if problem:
                    yield Item(path, path, problem=problem)
                    continue
                try:
                    yield _make_item(path, rows, side)
                except ValueError as error:
                    yield Item(path, path, problem=f"{file}: {error}")

    def describe_sides(self) -> str:
        files = [file for _, file in pair_sides(self.annotations, self.validation_annotations, self.test_annotations)]
        return join_names(files) if len(files) > 1 else "the column split, or folders in the images' folder"


def _make_item(path: str, rows: list[Row], side: str | None) -> Item:
    """Return the image with the boxes of its rows. Raises ValueError."""
    recorded, boxes = _read_boxes(rows)
    given, group = _read_one(rows, "split"), _read_one(rows, "group")
    if given and find_side(given) is None:
        raise ValueError(f"split must be train, validation or test, got {quote(given)}")
    side = find_side(given) if given else side
    return Item(path, path, split=side, group=group or None, boxes=boxes, recorded=recorded)


def _read_boxes(rows: list[Row]) -> tuple[tuple[int, int], tuple[Corners, ...]]:
    first, last = rows[0][0], rows[-1][0]
    sizes = {(row["width"], row["height"]) for _, row in rows}
    if len(sizes) > 1:
        different = " and ".join(sorted("x".join(size) for size in sizes))
        raise ValueError(f"lines {first} to {last} record different sizes of the image: {different}")
    boxes: list[Corners] = []
    for line, row in rows:
        if not row["class"] and not any(row[key] for key in CORNERS):
            continue
        if not row["class"]:
            raise ValueError(f"line {line} has a box without a class")
        xmin, ymin, xmax, ymax = (parse_number(row[key], f"line {line}: {key}") for key in CORNERS)
        boxes.append((xmin, ymin, xmax, ymax, row["class"]))
    width, height = (int(parse_number(rows[0][1][key], f"line {first}: {key}", 0)) for key in ("width", "height"))
    return (width, height), tuple(boxes)


def _read_one(rows: list[Row], column: str) -> str:
    """Return the value of a column that all rows of an image share."""
    values = {row.get(column, "") for _, row in rows}
    if len(values) > 1:
        raise ValueError(f"one image has several values of {column}: {', '.join(sorted(values))}")
    return values.pop()
