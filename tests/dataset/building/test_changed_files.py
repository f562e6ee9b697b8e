"""A file that is another one, or gone, when its record is written ends the build in one line: no record mixes two."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.dataset.building.validate import examine, make_record
from bakeoff.dataset.records.record import Box, Record, encode_record
from bakeoff.dataset.records.shards import HEAD, make_frame
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.dataset import Dataset, Item
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.foundation.errors import DataError
from support.drawing import encoded, write, write_numbered, write_video


def make_example(seed: int) -> bytes:
    record = Record("1.jpg", (encoded(seed),), 24, 32, (Box(0.1, 0.1, 0.5, 0.5, "cat"),))
    return encode_record(record, {"cat": 1})


def write_example(path: Path, seed: int) -> None:
    head, tail = make_frame(make_example(seed))
    write(path, head + make_example(seed) + tail)


PIPE = pytest.param("a pipe", marks=pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with a name"))
CASES: dict[str, tuple[Callable[[Path, int], object], Dataset, Item]] = {
    "image": (
        lambda root, seed: write(root / "a/1.jpg", encoded(seed)),
        ImageFolders(path="x"),
        Item("a/1.jpg", "a/1.jpg", labels=("a",)),
    ),
    "film": (
        lambda root, seed: write_video(root / "a/1.avi", 4 + seed, seed),
        Clips(path="x"),
        Item("a/1.avi", "a/1.avi", "video", labels=("a",)),
    ),
    "frames": (
        lambda root, seed: write(root / "a/7/1.jpg", encoded(seed)) and write_numbered(root / "a/7", 1),
        Clips(path="x"),
        Item("a/7", "a/7", "frames", labels=("a",)),
    ),
    "record": (
        lambda root, seed: write_example(root / "train", seed),
        TfRecords(path="x", layout="object_detection"),
        Item("train/0", "train", "example", span=(HEAD, len(make_example(1)))),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", ["another", "broken", PIPE, "gone"])
def test_a_file_that_changed_since_it_was_checked_is_named(case: str, change: str, tmp_path: Path) -> None:
    make, dataset, item = CASES[case]
    make(tmp_path, 1)
    verdict = examine(dataset, tmp_path, item)
    assert verdict.reason is None and make_record(dataset, tmp_path, item, verdict)
    path = tmp_path / item.path
    file = path / "1.jpg" if path.is_dir() else path
    if change == "another":
        make(tmp_path, 2)
    elif change == "broken":
        file.write_bytes(file.read_bytes()[:60])
    else:
        for one in (tmp_path / item.path).glob("*") if case == "frames" else [file]:
            one.unlink()
    if change == "a pipe":
        os.mkfifo(file)
    with pytest.raises(DataError, match=rf"{item.name}: .*changed while the records were being built") as refused:
        make_record(dataset, tmp_path, item, verdict)
    assert "\n" not in str(refused.value)
