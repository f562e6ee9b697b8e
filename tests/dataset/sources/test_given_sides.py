"""Sides that files and folders give in the ways in which people really arrange them."""

from pathlib import Path

import pytest

from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import find_side
from bakeoff.foundation.errors import DataError
from support.built import Build
from support.drawing import encoded, write, write_images, write_video

HEAD = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
TUTORIAL = {"annotations": "train_labels.csv", "validation_annotations": "test_labels.csv"}


def write_tutorial(root: Path) -> None:
    """The Object Detection API's tutorials: a CSV for each side, file names without their folder."""
    for number, name in enumerate(("train/1", "train/2", "test/1")):
        write(root / f"images/{name}.jpg", encoded(number))
    write(root / "train_labels.csv", HEAD + "1.jpg,32,24,cat,1,1,5,5\n2.jpg,32,24,cat,2,2,6,6\n")
    write(root / "test_labels.csv", HEAD + "1.jpg,32,24,cat,3,3,7,7\n")


def test_a_csv_for_each_side_with_images_in_folders_of_the_sides(make: Build, tmp_path: Path) -> None:
    write_tutorial(tmp_path / "set")
    built = make(BoxCsv(path="set", **TUTORIAL))  # type: ignore[arg-type]
    assert built.names("train") == ["images/train/1.jpg", "images/train/2.jpg"]
    [(name, row)] = built.rows("validation").items()
    assert (name, row["image/object/bbox/xmin"]) == ("images/test/1.jpg", [3 / 32])
    assert built.findings.split == ("split: by train_labels.csv and test_labels.csv",)


def test_without_the_name_of_a_csv_those_that_are_there_are_listed(make: Build, tmp_path: Path) -> None:
    write_tutorial(tmp_path / "set")
    message = r"set/labels\.csv: no such file .*\(data\.annotations\).*\btest_labels\.csv, train_labels\.csv"
    with pytest.raises(DataError, match=message):
        make(BoxCsv(path="set"))
    with pytest.raises(DataError, match=r"set/val\.csv: no such file .*\(data\.validation_annotations\)"):
        make(BoxCsv(path="set", annotations="train_labels.csv", validation_annotations="val.csv"))


def test_one_csv_for_both_sides_finds_its_images_in_their_folders(make: Build, tmp_path: Path) -> None:
    for number, name in enumerate(("train/1", "train/2", "val2017/3")):
        write(tmp_path / f"set/images/{name}.jpg", encoded(number))
    write(tmp_path / "set/labels.csv", HEAD + "".join(f"{n}.jpg,32,24,cat,1,1,5,5\n" for n in (1, 2, 3)))
    built = make(BoxCsv(path="set"))
    assert built.names("validation") == ["images/val2017/3.jpg"]
    write(tmp_path / "set/images/val2017/2.jpg", encoded(9))
    message = r"images/2\.jpg: .*both images/train/2\.jpg and images/val2017/2\.jpg"
    with pytest.raises(DataError, match=message):
        make(BoxCsv(path="set"))


def test_a_coco_file_for_each_side_with_images_in_folders_of_the_sides(make: Build, tmp_path: Path) -> None:
    for number, side in enumerate(("train2017", "val2017")):
        write(tmp_path / f"set/{side}/1.jpg", encoded(number))
        text = (
            '{"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": [], "categories": [{"id": 1, "name": "a"}]}'
        )
        text = text.replace('"annotations": []', '"annotations": [{"image_id":1,"category_id":1,"bbox":[1,1,5,5]}]')
        write(tmp_path / f"set/annotations/instances_{side}.json", text)
    files = {"annotations": "train", "validation_annotations": "val"}
    built = make(Coco(path="set", **{key: f"annotations/instances_{side}2017.json" for key, side in files.items()}))
    assert (built.names("train"), built.names("validation")) == (["train2017/1.jpg"], ["val2017/1.jpg"])


@pytest.mark.parametrize("name", ["train", "training", "Train"])
def test_a_folder_of_images_beside_others_is_a_class_whatever_its_name(name: str, make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {name: 5, "car": 5, "test": 5})
    built = make(ImageFolders(path="set"))
    assert built.manifest.classes == tuple(sorted([name, "car", "test"]))
    assert sum(built.manifest.splits["train"].counts.values()) == 12


def test_a_class_named_train_of_clips(make: Build, tmp_path: Path) -> None:
    for number in range(2):
        write_video(tmp_path / f"set/train/{number}.avi", frames=3, seed=number)
        write_video(tmp_path / f"set/car/{number}.avi", frames=3, seed=5 + number)
    assert make(Clips(path="set")).manifest.classes == ("car", "train")


def test_sides_without_folders_for_classes_are_an_error(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"train": 3, "test": 2})
    with pytest.raises(DataError, match="set/train: .*images.*no folder"):
        make(ImageFolders(path="set"))


def test_a_folder_of_validation_without_one_of_training_is_no_class(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/validation", {"daisy": 3, "tulip": 3})
    with pytest.raises(DataError, match=r"set: has validation/ and no folder for training.*set/validation"):
        make(ImageFolders(path="set"))
    assert ImageFolders(path="set/validation").declared_classes(tmp_path / "set/validation") == ["daisy", "tulip"]
    write_images(tmp_path / "set", {"valid": 3})
    write(tmp_path / "set/validation/0.jpg", encoded(0))  # a class that is called so
    assert ImageFolders(path="set").declared_classes(tmp_path / "set") == ["valid", "validation"]


def test_a_class_beside_the_sides_is_not_passed_over(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/train", {"cat": 3})
    write_images(tmp_path / "set", {"dog": 3}, first_seed=50)
    with pytest.raises(DataError, match=r"set: .*\btrain/ .*\bside\b.*\bdog/ .*\bclass"):
        make(ImageFolders(path="set"))


def test_unsorted_images_of_a_test_side_are_passed_over(make: Build, tmp_path: Path) -> None:
    """As competitions hand them out: their classes are for the participants to find."""
    for seed, side in enumerate(("train", "val")):
        write_images(tmp_path / "set" / side, {"cat": 2}, first_seed=10 * seed)
    write_images(tmp_path / "set", {"test": 2}, first_seed=50)
    built = make(ImageFolders(path="set"))
    assert (len(built.names("train")), len(built.names("validation"))) == (2, 2)


@pytest.mark.parametrize(
    ("name", "side"),
    [("val2017", "validation"), ("Train_2014", "train"), ("test-2015", "test"), ("2017", None), ("train1", None)],
)
def test_a_side_may_have_a_year(name: str, side: str | None) -> None:
    assert find_side(name) == side
