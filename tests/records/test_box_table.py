"""The table of all training boxes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bakeoff.errors import DataError
from bakeoff.records.box_table import BoxTable, read_boxes
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import Box

ROWS = [(0.125, 0.25, 0.5, 0.75), (0.0, 0.5, 1.0, 1.0), (0.25, 0.25, 0.375, 0.5)]
BOXES = [Box(*row, "cat") for row in ROWS]


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    with BoxTable(tmp_path) as table:
        table.add(BOXES[:2])
        table.add([])
        table.add(BOXES[2:])
    return Manifest("detection", ("cat",), {}, boxes_sha256=table.sha256())


def test_boxes_come_back_in_the_order_in_which_they_were_added(manifest: Manifest, tmp_path: Path) -> None:
    boxes = read_boxes(tmp_path, manifest)
    assert boxes.dtype == np.float32
    assert boxes.tolist() == [list(row) for row in ROWS]


def test_any_program_that_knows_numpy_reads_the_file(manifest: Manifest, tmp_path: Path) -> None:
    assert np.load(tmp_path / "boxes.npy", mmap_mode="r").shape == (3, 4)


def test_no_boxes_at_all_are_a_table_of_no_rows(tmp_path: Path) -> None:
    with BoxTable(tmp_path) as table:
        table.add([])
    boxes = read_boxes(tmp_path, Manifest("detection", ("cat",), {}, boxes_sha256=table.sha256()))
    assert boxes.shape == (0, 4)


def test_many_rows_leave_the_first_where_they_are(tmp_path: Path) -> None:
    """The header is written before the number of rows is known."""
    rows = np.random.default_rng(0).random((123_457, 4), np.float32)
    with BoxTable(tmp_path) as table:
        for start in range(0, len(rows), 1000):
            table.add_rows(rows[start : start + 1000])
    assert np.array_equal(np.load(tmp_path / "boxes.npy"), rows)


def test_a_damaged_table_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "boxes.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"boxes\.npy: damaged, its digest is not the manifest's; run `dvc repro --force"
    ):
        read_boxes(tmp_path, manifest)


def test_a_missing_table_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / "boxes.npy").unlink()
    with pytest.raises(DataError, match=r"boxes\.npy: missing, though the manifest names it; run `dvc repro --force"):
        read_boxes(tmp_path, manifest)


def test_records_without_boxes_have_no_table(manifest: Manifest, tmp_path: Path) -> None:
    message = r"boxes\.npy: is written for detection, these records are for classification"
    with pytest.raises(DataError, match=message):
        read_boxes(tmp_path, replace(manifest, task="classification", boxes_sha256=None))
