"""A picture or a film that no annotation lists is named, and is no example: nothing is left out without a word."""

from pathlib import Path

import pytest

from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.dataset.sources.voc import PascalVoc
from support.drawing import encoded, write, write_numbered, write_scenes, write_video

TABLE = "filename,width,height,class,xmin,ymin,xmax,ymax\n0.jpg,32,24,cat,4,6,20,18\n"
TREE = """{"images": [{"id": 1, "file_name": "0.jpg"}], "categories": [{"id": 1, "name": "cat"}],
 "annotations": [{"image_id": 1, "category_id": 1, "bbox": [4, 6, 8, 8]}]}"""


def write_table(root: Path) -> None:
    write_numbered(root / "images", 2)
    write(root / "labels.csv", TABLE)
    write(root / "annotations.json", TREE)


def write_clips(root: Path) -> None:
    write_video(root / "run/0.avi", 2)
    write_video(root / "run/1.avi", 2)
    write(root / "walk/7/0.jpg", encoded(1))
    write(root / "clips.csv", "path,label\nrun/0.avi,run\nwalk/7,walk\n")


def write_voc(root: Path) -> None:
    write_scenes(root, 1)
    write(root / "annotations/1.jpg", encoded(1))


@pytest.mark.parametrize(
    ("make", "dataset", "unlisted"),
    [
        (write_table, BoxCsv(path="x"), "images/1.jpg"),
        (write_table, Coco(path="x", images="images"), "images/1.jpg"),
        (write_clips, Clips(path="x", table="clips.csv"), "run/1.avi"),
        (write_voc, PascalVoc(path="x"), "annotations/1.jpg"),
    ],
    ids=["csv", "coco", "clips", "voc"],
)
def test_what_no_annotation_lists_is_named_and_ignored(
    make: object, dataset: Dataset, unlisted: str, tmp_path: Path
) -> None:
    make(tmp_path)  # type: ignore[operator]
    odd = [(item.name, item.ignored) for item in dataset.items(tmp_path) if item.problem]
    assert odd == [(unlisted, True)]
