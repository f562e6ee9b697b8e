"""Video: clips in a folder for each class, or listed in a CSV. A clip is a video file or a folder of frames.

train/waving/1.mp4   train/still/7/0001.jpg 0002.jpg …        path,label,split,source
                                                              road/car_003.mp4,road,train,car.mp4
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import ClassVar

from bakeoff.dataset.sources.class_folders import list_class_folders
from bakeoff.dataset.sources.dataset import Dataset, Item, Media, find_side
from bakeoff.dataset.sources.paths import (
    IMAGE_SUFFIXES,
    LEAVES,
    VIDEO_SUFFIXES,
    Row,
    group_rows,
    list_files,
    locate,
    read_rows,
    stays_inside,
)
from bakeoff.foundation.errors import require
from bakeoff.foundation.formatting import make_printable

BETWEEN = "|"  # the labels of a clip in one cell
GROUPS = ("group", "source", "video")  # columns that name what a clip was cut from


@dataclass(frozen=True, kw_only=True)
class Clips(Dataset):
    task: ClassVar[str] = "video"
    table: str | None = None  # a CSV with path, label (or labels), and optionally split and group
    multi_label: bool = False  # labels such as `rain|night`; an empty cell: none of them
    max_frames: int = 256  # of a longer clip every second, third, … frame is taken
    frames_per_second: float = 30.0  # of folders of frames, which do not have it

    def check(self) -> None:
        require(1 <= self.max_frames <= 4096, "max_frames", self.max_frames, "between 1 and 4096")
        require(self.frames_per_second > 0, "frames_per_second", self.frames_per_second, "above 0")
        possible = self.table is not None or not self.multi_label
        require(possible, "multi_label", self.multi_label, "false without a table: a folder names one class")

    def items(self, root: Path) -> Iterator[Item]:
        if self.table:
            rows = read_rows(root, self.table, ("path", "label|labels"), "data.table")
            for name, group in group_rows(rows, "path"):
                yield self._make_item(root, self.table, name, group)
            return
        for side, inside, label in list_class_folders(root):
            for folder, files in groupby(list_files(root, inside), key=lambda row: str(PurePosixPath(row[0]).parent)):
                yield from _list_folder(root, folder, inside, list(files), side, label)

    def declared_classes(self, root: Path) -> list[str] | None:
        return None if self.table else sorted({label for _, _, label in list_class_folders(root)})

    def describe_sides(self) -> str:
        return f"the column split of {self.table}" if self.table else super().describe_sides()

    def _make_item(self, root: Path, table: str, name: str, rows: list[Row]) -> Item:
        """Return the clip of one row; several rows of one name are a mistake."""
        line, row = rows[0]
        path, problem = locate_clip(root, name)
        if problem:
            return Item(path, path, "video", problem=problem)
        cell, given = row.get("labels", row.get("label", "")), row.get("split", "")
        labels = [part.strip() for part in cell.split(BETWEEN)] if self.multi_label else [cell]
        labels = [label for label in labels if label]
        if len(rows) > 1:
            problem = f"{table}:{rows[1][0]}: is listed twice, first in line {line}"
        elif not self.multi_label and len(labels) != 1:
            problem = f"{table}:{line}: must have one label, got none"
        elif len(set(labels)) < len(labels):
            problem = f"{table}:{line}: has a label twice: {make_printable(cell)}"
        elif given and find_side(given) is None:
            problem = f"{table}:{line}: split must be train, validation or test, got {make_printable(given)!r}"
        group = next((row[column] for column in GROUPS if row.get(column)), None)
        media: Media = "frames" if (root / path).is_dir() else "video"
        if media == "frames" and not problem:
            problem = next((f"{file}: {why}" for file, why in list_files(root, path) if why), None)
        return Item(path, path, media, split=find_side(given), group=group, labels=tuple(labels), problem=problem)


def locate_clip(root: Path, name: str) -> tuple[str, str | None]:
    """Return (relative path, problem) of a clip that a table names; it may be a folder, too."""
    path, problem = locate(root, name.rstrip("/"))
    if problem == "no such file" and os.path.isdir(root / path):
        return path, None if stays_inside(root, path) else LEAVES
    return path, problem


def list_frames(folder: Path) -> list[Path]:
    """Return the frames in the order of the numbers in their names: 2.jpg before 10.jpg."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES and file.name[0] != "."]
    return sorted(files, key=lambda file: (_split_numbers(file.name), file.name))


def _split_numbers(name: str) -> list[tuple[int, int, str]]:
    return [
        (1, int(part), "") if re.fullmatch("[0-9]+", part) else (0, 0, part) for part in re.split(r"([0-9]+)", name)
    ]


def _list_folder(
    root: Path, folder: str, inside: str, files: list[tuple[str, str | None]], side: str | None, label: str
) -> Iterator[Item]:
    """Yield the clips of one folder: each video in it; or, below the class's own folder, all its images together."""
    suffixes = {Path(path).suffix.lower() for path, _ in files}
    stills = IMAGE_SUFFIXES - VIDEO_SUFFIXES
    if folder != inside and suffixes & stills and not suffixes & (VIDEO_SUFFIXES - {".gif"}):
        problem = next((problem for _, problem in files if problem), None)
        yield Item(folder, folder, "frames", split=side, labels=(label,), problem=problem)
        return
    for path, problem in files:
        suffix = Path(path).suffix.lower()
        if problem or suffix in VIDEO_SUFFIXES:
            yield Item(path, path, "video", split=side, labels=(label,), problem=problem)
        else:
            yield Item(path, path, "video", problem="no video, by its name", ignored=True)
