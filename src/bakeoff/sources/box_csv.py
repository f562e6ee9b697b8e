"""Detection: the CSV of the Object Detection API's tutorials, one box a row; rows of an image may be anywhere.

filename,width,height,class,xmin,ymin,xmax,ymax
raccoon-1.jpg,650,417,raccoon,81,88,522,408
empty.jpg,640,480,,,,,                                    no class and no corners: an image without objects
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.sources.dataset import Corners, Dataset, Item
from bakeoff.sources.paths import named, shown
from bakeoff.sources.rows import Row, read_rows, together
from bakeoff.sources.splits import side_named

CORNERS = ("xmin", "ymin", "xmax", "ymax")
COLUMNS = ("filename", "width", "height", "class", *CORNERS)


@dataclass(frozen=True, kw_only=True)
class BoxCsv(Dataset):
    annotations: str = "labels.csv"
    validation_annotations: str | None = None  # a file of its own for the validation side
    images: str = "images"  # the folder that file names start from

    @property
    def task(self) -> str:
        return "detection"

    def items(self, root: Path) -> Iterator[Item]:
        files: list[tuple[str | None, str]] = [(None, self.annotations)]
        if self.validation_annotations:
            files = [(TRAIN, self.annotations), (VALIDATION, self.validation_annotations)]
        for side, file in files:
            for name, rows in together(read_rows(root, file, COLUMNS, "data.annotations"), "filename"):
                path, problem = named(root, name, self.images)
                if problem:
                    yield Item(path, path, problem=problem)
                    continue
                try:
                    recorded, boxes = _boxes(rows)
                    given = _one({row.get("split", "") for _, row in rows}, "split")
                    group = _one({row.get("group", "") for _, row in rows}, "group") or None
                    if given and side_named(given) is None:
                        raise ValueError(f"split must be train, validation or test, got {shown(given)!r}")
                except ValueError as error:
                    yield Item(path, path, problem=f"{file}: {error}")
                    continue
                own = side_named(given) if given else side
                yield Item(path, path, split=own, group=group, boxes=boxes, recorded=recorded)


def _boxes(rows: list[Row]) -> tuple[tuple[int, int], tuple[Corners, ...]]:
    sizes = {(row["width"], row["height"]) for _, row in rows}
    if len(sizes) > 1:
        said = " and ".join(sorted("x".join(size) for size in sizes))
        raise ValueError(f"lines {rows[0][0]} to {rows[-1][0]} record different sizes of the image: {said}")
    boxes: list[Corners] = []
    for line, row in rows:
        if not row["class"] and not any(row[key] for key in CORNERS):
            continue
        if not row["class"]:
            raise ValueError(f"line {line} has a box without a class")
        xmin, ymin, xmax, ymax = (_number(line, row, key) for key in CORNERS)
        boxes.append((xmin, ymin, xmax, ymax, row["class"]))
    first = rows[0][0]
    return (int(_number(first, rows[0][1], "width")), int(_number(first, rows[0][1], "height"))), tuple(boxes)


def _one(values: set[str], column: str) -> str:
    if len(values) > 1:
        raise ValueError(f"one image has several values of {column}: {', '.join(sorted(values))}")
    return next(iter(values))


def _number(line: int, row: dict[str, str], key: str) -> float:
    try:
        return float(row[key])
    except ValueError:
        raise ValueError(f"line {line}: {key} must be a number, got {shown(row[key])!r}") from None
