"""A picture or a film that is in no example is named in the report: nothing is left out without a word."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.dataset.building.catalogue import Catalogue
from bakeoff.dataset.building.validate_all import ItemListing
from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset, Part
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.importing.datasets.detect_format import Layout, Survey
from support.drawing import encoded, write, write_images, write_numbered, write_scenes, write_video

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


def write_yolo(root: Path) -> None:
    write_numbered(root / "images", 1)
    write(root / "labels/0.txt", "0 0.5 0.5 0.2 0.2\n")
    write(root / "classes.txt", "cat\n")
    write(root / "more/0.jpg", encoded(2))


def write_folders(root: Path) -> None:
    write_images(root, {"train/cat": 1, "train/dog": 1})
    write_video(root / "train/7.avi", 2)


@pytest.mark.parametrize(
    ("make", "dataset", "unlisted"),
    [
        (write_table, BoxCsv(path="x"), ["images/1.jpg"]),
        (write_table, Coco(path="x", images="images"), ["images/1.jpg"]),
        (write_clips, Clips(path="x", table="clips.csv"), ["run/1.avi"]),
        (write_voc, PascalVoc(path="x"), ["annotations/1.jpg"]),
        (write_yolo, Yolo(path="x"), ["more/0.jpg"]),
        (write_folders, ImageFolders(path="x"), ["train/7.avi"]),
    ],
    ids=["csv", "coco", "clips", "voc", "yolo", "folders"],
)
def test_what_is_in_no_example_is_named_and_ignored(
    make: Callable[[Path], None], dataset: Dataset, unlisted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(root := Path("x"))
    write(root / "outside.png", encoded(3))
    expected = ["outside.png", *unlisted]
    catalogue = Catalogue(tmp_path / "catalogue")
    for _ in ItemListing(catalogue, [Part("", dataset)]).cut_pieces():
        pass
    rows = catalogue.table.execute("SELECT name FROM items WHERE content LIKE '%\"ignored\":true%' ORDER BY name")
    assert [name for (name,) in rows] == sorted(expected)
    survey = Survey(Layout("x", "x", {}))
    assert sum(1 for _, trouble, _ in survey.count_items(dataset, root) if not trouble) >= 1
    assert survey.ignored == len(expected)
