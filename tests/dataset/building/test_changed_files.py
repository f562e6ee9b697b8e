"""A file that is another one, or gone, when its record is written ends the build in one line: no record mixes two."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.dataset.building.validate import examine, make_record
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.dataset import Dataset, Item
from bakeoff.foundation.errors import DataError
from support.drawing import encoded, write, write_numbered, write_video

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
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", ["another", "broken", "gone"])
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
    with pytest.raises(DataError, match=rf"{item.name}: .*changed while the records were being built") as refused:
        make_record(dataset, tmp_path, item, verdict)
    assert "\n" not in str(refused.value)
