"""One labelled image or clip, encoded, with its boxes or labels by name.

A detection record of the demo: one 176x168 JPEG named `train/000017`, with
`boxes=(Box(0.31, 0.12, 0.63, 0.38, "7"), ...)`; a clip has several frames and `labels=("left",)`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

TRAIN, VALIDATION = "train", "validation"
SPLITS = (TRAIN, VALIDATION)


@dataclass(frozen=True)
class Box:
    """Corners as shares of the image, 0..1."""

    ymin: float
    xmin: float
    ymax: float
    xmax: float
    label: str


@dataclass(frozen=True)
class Record:
    name: str
    frames: tuple[bytes, ...]  # encoded images; exactly one unless it is a clip
    height: int
    width: int
    boxes: tuple[Box, ...] = ()
    labels: tuple[str, ...] = ()
    format: str = "jpeg"
    frames_per_second: float = 0.0  # above 0 for clips

    @property
    def is_scene(self) -> bool:
        """An image with boxes or, on purpose, without any."""
        return not self.labels and not self.frames_per_second


class Source(Protocol):
    """Records that are made, not read: a frozen dataclass whose fields are the settings of `conf/data/<name>.yaml`.

    Folders of files are another matter: `dataset.Dataset`.
    """

    task: ClassVar[str]

    def classes(self) -> list[str]:
        """All labels, in the order that gives them the ids 1..k."""

    def count(self, split: str) -> int:
        """How many records the split has."""

    def records(self, split: str) -> Iterable[Record]:
        """The records of one split, in a fixed order."""
