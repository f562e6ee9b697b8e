"""TFRecords that another program wrote, brought over as they are understood there.

| layout           | whose                                   | class ids in its records                               |
| object_detection | the Object Detection API and its users  | 1..k of the label map; the text wins where it is given |
| ftc_ml           | the FIRST Machine Learning Toolchain    | 0..k-1, its label map says 1..k; the text wins         |
| inception        | Inception's build_image_data            | 1..k, 0 is the background                              |
| s3dg             | s3dg_estimator's raw clips              | one byte for each label, 0 or 1                        |
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.records.shards import read_frames
from bakeoff.dataset.sources.dataset import Dataset, Item, join_names, pair_sides
from bakeoff.dataset.sources.paths import stays_inside
from bakeoff.foundation.errors import DataError, require

TASKS = {"object_detection": "detection", "ftc_ml": "detection", "inception": "classification", "s3dg": "video"}


@dataclass(frozen=True, kw_only=True)
class TfRecords(Dataset):
    layout: Literal["object_detection", "ftc_ml", "inception", "s3dg"]
    train: str = "train*"  # a pattern for the files of each side
    validation: str | None = "validation*"  # null: the records are to be split
    test: str | None = None
    height: int = 224  # of s3dg's raw frames, whose records do not have it
    width: int = 224
    frames_per_second: float = 29.830732
    max_frames: int = 256

    def check(self) -> None:
        require(self.layout != "s3dg" or self.labels is not None, "labels", None, "a file of labels for layout s3dg")
        for key in ("height", "width", "max_frames"):
            require(1 <= getattr(self, key) <= 16384, key, getattr(self, key), "between 1 and 16384")
        require(self.frames_per_second > 0, "frames_per_second", self.frames_per_second, "above 0")

    @property
    def task(self) -> str:
        return TASKS[self.layout]

    @property
    def multi_label(self) -> bool:
        return self.layout == "s3dg"

    @property
    def first_id(self) -> int:
        """The class id that means the first label."""
        return 0 if self.layout == "ftc_ml" else 1

    def items(self, root: Path) -> Iterator[Item]:
        for side, pattern in pair_sides(self.train, self.validation, self.test):
            files = [file for file in sorted(root.glob(pattern)) if file.is_file()]
            if not files:
                raise DataError(f"{root.as_posix()}: has no file {pattern!r} (data.{side or TRAIN})")
            for file in files:
                yield from self._list_file(root, file.relative_to(root).as_posix(), side)

    def describe_sides(self) -> str:
        files = pair_sides(self.train, self.validation, self.test)
        return f"the files {join_names([pattern for _, pattern in files])}"

    def _list_file(self, root: Path, name: str, side: str | None) -> Iterator[Item]:
        if not stays_inside(root, name):
            yield Item(name, name, "example", problem="a link that leaves the dataset's folder")
            return
        number = 0
        try:
            for number, span in enumerate(read_frames(root / name)):
                yield Item(f"{name}/{number:06d}", name, "example", split=side, span=span)
        except (ValueError, OSError) as error:
            problem = str(getattr(error, "strerror", None) or error)
            yield Item(f"{name}/after {number:06d}", name, "example", problem=problem)
