"""A folder that a link brings in from outside is named, and nothing in it is listed, read or counted."""

import os
import sys
from collections.abc import Callable
from pathlib import Path, PurePath

import pytest

from bakeoff.dataset.building.validate import examine
from bakeoff.dataset.records.shards import make_frame
from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders, list_unlisted
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset, Item
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.errors import DataError
from support.drawing import encoded, voc, write, write_images, write_numbered, write_scenes, write_video

LEAVES = "leaves the dataset's folder"


def write_yolo(root: Path) -> None:
    write(root / "classes.txt", "cat\n")
    for side in ("train", "valid"):
        write_numbered(root / side / "images", 2)
        for number in range(2):
            write(root / side / f"labels/{number}.txt", "0 0.5 0.5 0.2 0.2\n")


def write_frames(root: Path) -> None:
    write_numbered(root / "walk", 3)
    write_video(root / "run/1.avi", 3)
    write(root / "clips.csv", "path,label\nwalk,walk\nrun/1.avi,run\n")


def write_table(root: Path) -> None:
    write_numbered(root / "images", 2)
    rows = [f"{number}.jpg,32,24,cat,4,6,20,18\n" for number in range(2)]
    write(root / "labels.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n" + "".join(rows))


def write_coco(root: Path) -> None:
    write_numbered(root / "images", 1)
    content = '{"images": [{"id": 1, "file_name": "0.jpg"}], "categories": [], "annotations": []}'
    write(root / "annotations.json", content)


def list_all(dataset: Dataset, root: Path) -> list[Item]:
    return list(dataset.items(root))


CASES: dict[str, tuple[Callable[[Path], None], Dataset, str]] = {
    "a class": (lambda root: write_images(root, {"cat": 2, "dog": 2}), ImageFolders(path="x"), "dog"),
    "a side": (
        lambda root: write_images(root, {"train/cat": 2, "validation/cat": 2}), ImageFolders(path="x"), "validation",
    ),
    "a class of clips": (write_frames, Clips(path="x"), "run"),
    "images of VOC": (lambda root: write_scenes(root, 2), PascalVoc(path="x", unlabelled="negative"), "images"),
    "labels of VOC": (lambda root: write_scenes(root, 2), PascalVoc(path="x", unlabelled="skip"), "annotations"),
    "images of YOLO": (write_yolo, Yolo(path="x"), "valid/images"),
    "labels of YOLO": (write_yolo, Yolo(path="x", unlabelled="negative"), "valid/labels"),
    "images of a table": (write_table, BoxCsv(path="x"), "images"),
    "images of COCO": (write_coco, Coco(path="x", images="images"), "images"),
    "frames of a table": (write_frames, Clips(path="x", table="clips.csv"), "walk"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_linked_folder_is_named_and_not_followed(case: str, tmp_path: Path) -> None:
    make, dataset, linked = CASES[case]
    root, outside = tmp_path / "set", tmp_path / "outside"
    make(root)
    (root / linked).rename(outside)
    (root / linked).symlink_to(outside)
    try:
        items = list_all(dataset, root)
    except DataError as error:
        assert LEAVES in str(error) and linked in str(error)
        return
    usable = [item.path for item in items if not item.problem]
    assert not [path for path in usable if Path(os.path.realpath(root / path)).is_relative_to(outside)]
    assert [item.problem for item in items if item.problem and LEAVES in item.problem]
    assert not [item for item in items if "labels" in linked and item.path.startswith("valid") and not item.problem]


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with a name")
@pytest.mark.parametrize("kind", ["voc", "yolo"])
def test_a_label_that_cannot_be_read_makes_no_picture_one_without_objects(kind: str, tmp_path: Path) -> None:
    """`data.unlabelled: negative` is for pictures without a label, and these have one."""
    make, dataset, labels = {
        "voc": (lambda: write_scenes(tmp_path, 4), PascalVoc(path="x", unlabelled="negative"), "annotations"),
        "yolo": (lambda: write_yolo(tmp_path), Yolo(path="x", unlabelled="negative"), "train/labels"),
    }[kind]
    make()
    pipe, dangling, *_ = sorted((tmp_path / labels).iterdir())
    for label in (pipe, dangling):
        label.unlink()
    os.mkfifo(pipe)
    dangling.symlink_to("nowhere")
    items = [item for item in list_all(dataset, tmp_path) if PurePath(item.path).stem in (pipe.stem, dangling.stem)]
    items = [item for item in items if not item.path.startswith("valid")]
    assert len(items) == 2 and all(item.problem for item in items)


def test_a_linked_frame_in_a_folder_of_a_table_is_named(tmp_path: Path) -> None:
    write_frames(tmp_path / "set")
    write(tmp_path / "secret.jpg", encoded(9))
    (tmp_path / "set/walk/9.jpg").symlink_to(tmp_path / "secret.jpg")
    [walk] = [item for item in list_all(Clips(path="x", table="clips.csv"), tmp_path / "set") if item.path == "walk"]
    assert walk.problem and "walk/9.jpg: a link" in walk.problem


@pytest.mark.parametrize("case", ["a class", "a side", "images of VOC", "images of a table", "images of COCO"])
def test_a_link_to_itself_is_named(case: str, tmp_path: Path) -> None:
    make, dataset, linked = CASES[case]
    make(tmp_path)
    for folder in (tmp_path, tmp_path / linked):
        (folder / "9.jpg").symlink_to("9.jpg")
    items = [*list_unlisted(tmp_path, set()), *list_all(dataset, tmp_path)]
    problems = {item.name: item.problem for item in items if item.problem}
    if case != "a side":  # there it lies beside the classes
        assert "Too many levels" in problems[f"{linked}/9.jpg"]


def test_records_that_went_away_while_they_were_listed_are_named(tmp_path: Path) -> None:
    head, tail = make_frame(b"x")
    for number in (1, 2):
        write(tmp_path / f"train-{number}", head + b"x" + tail)
    items = TfRecords(path="x", layout="object_detection", validation=None).items(tmp_path)
    next(items)
    (tmp_path / "train-2").unlink()
    assert [item.problem for item in items] == ["No such file or directory"]


def test_a_link_within_the_dataset_is_read(tmp_path: Path) -> None:
    write_images(tmp_path, {"cat": 1})
    (tmp_path / "cat/2.jpg").symlink_to(tmp_path / "cat/000.jpg")
    assert [item.problem for item in list_all(ImageFolders(path="x"), tmp_path)] == [None, None]


@pytest.mark.parametrize("kind", ["voc", "yolo"])
def test_names_of_255_bytes_are_listed(kind: str, tmp_path: Path) -> None:
    """Another ending makes such a name too long for the system."""
    name = "x" * 251
    if kind == "voc":
        write(tmp_path / f"images/{name}.gif", encoded(1, "GIF"))
        write(tmp_path / f"annotations/{name}.xml", voc([("cat", 4, 6, 20, 18)]))
        dataset: Dataset = PascalVoc(path="x")
    else:
        write(tmp_path / f"images/{name}x.gz", b"")
        write(tmp_path / f"images/{name}.gif", encoded(1, "GIF"))
        write(tmp_path / f"labels/{name}.txt", "0 0.5 0.5 0.2 0.2\n")
        write(tmp_path / "labels/" / f"{name[1:]}y.txt", "0 0.5 0.5 0.2 0.2\n")
        write(tmp_path / "classes.txt", "cat\n")
        dataset = Yolo(path="x")
    usable = [item for item in list_all(dataset, tmp_path) if not item.problem]
    assert [len(item.boxes) for item in usable] == [1]


def test_a_folder_that_went_away_is_named(tmp_path: Path) -> None:
    write_images(tmp_path, {"cat": 1, "dog": 1})
    items = ImageFolders(path="x").items(tmp_path)
    next(items)
    (tmp_path / "dog/000.jpg").unlink()
    (tmp_path / "dog").rmdir()
    with pytest.raises(DataError, match="dog: went away"):
        list(items)


def test_a_file_without_a_known_ending_that_went_away_is_named(tmp_path: Path) -> None:
    write_images(tmp_path, {"cat": 1})
    write(tmp_path / "cat/other", b"x")
    items = ImageFolders(path="x").items(tmp_path)
    next(items)
    (tmp_path / "cat/other").unlink()
    [other] = items
    assert other.problem and other.problem.startswith("cannot be read: No such file")
    assert examine(ImageFolders(path="x"), tmp_path, other).reason == other.problem


def test_records_of_others_are_not_read_through_a_link(tmp_path: Path) -> None:
    write(tmp_path / "outside", b"x")
    (tmp_path / "set").mkdir()
    (tmp_path / "set/train.record").symlink_to(tmp_path / "outside")
    [item] = TfRecords(path="x", layout="object_detection", validation=None).items(tmp_path / "set")
    assert item.problem and LEAVES in item.problem
