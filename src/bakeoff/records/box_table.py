"""`data/records/boxes.npy`: all boxes of the training split in record order, for whoever wants their sizes without
reading images. (n, 4) float32 ymin xmin ymax xmax, shares of the image.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from bakeoff.errors import DataError
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import Box

FILE = "boxes.npy"
REMEDY = "run `dvc repro --force build_records`"


class BoxTable:
    """Writes boxes as they come; memory does not grow with their number."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._file = self._path.open("wb")
        self._rows = 0
        self._write_header()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.seek(0)
        self._write_header()  # NumPy leaves room in it for any number of rows, so the data stay where they are
        self._file.close()

    def add(self, boxes: Iterable[Box]) -> None:
        self.add_rows(np.array([(box.ymin, box.xmin, box.ymax, box.xmax) for box in boxes], np.float32).reshape(-1, 4))

    def add_rows(self, rows: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(rows, "<f4").tobytes())
        self._rows += len(rows)

    def sha256(self) -> str:
        """Of the finished file."""
        return _sha256(self._path)

    def _write_header(self) -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, 4)}
        np.lib.format.write_array_header_1_0(self._file, header)


def read_boxes(folder: Path, manifest: Manifest) -> np.ndarray:
    """(n, 4) of the training split, as the build wrote them."""
    path = folder / FILE
    if manifest.boxes_sha256 is None:
        raise DataError(f"{path}: is written for detection, these records are for {manifest.task}")
    if not path.is_file():
        raise DataError(f"{path}: missing, though the manifest names it; {REMEDY}")
    if _sha256(path) != manifest.boxes_sha256:
        raise DataError(f"{path}: damaged, its digest is not the manifest's; {REMEDY}")
    return np.load(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
