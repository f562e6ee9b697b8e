"""What a folder is taken for, what it lacks, and what else it could be."""

import json
from pathlib import Path

import pytest

from bakeoff.config.compose.data_source import choose_source
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.detect_format import make_source, survey_folder
from support.built import Build
from support.drawing import encoded, write, write_images, write_video
from support.exporters import (
    cvat_coco,
    cvat_voc,
    cvat_yolo,
    dated_voc,
    label_img_yolo,
    label_studio_yolo,
    picture,
    roboflow_coco,
    roboflow_csv,
    roboflow_voc,
    roboflow_yolo,
    voc_xml,
    yolo_text,
)
from support.imports import ROOT
from support.messages import missing_in


def settings_of(root: Path, kind: str | None = None) -> dict[str, object]:
    return survey_folder(root, kind)[0].layout.settings


def test_settings_hold_only_what_differs_from_the_defaults(tmp_path: Path) -> None:
    for write_layout in (roboflow_coco, roboflow_csv, cvat_coco, cvat_voc, label_img_yolo, roboflow_yolo):
        write_layout(tmp_path / write_layout.__name__)
    sides = {"annotations": "train/_annotations.csv", "validation_annotations": "valid/_annotations.csv"}
    sides |= {"test_annotations": "test/_annotations.csv"}
    coco_sides = {key: file.replace(".csv", ".coco.json") for key, file in sides.items()}
    assert settings_of(tmp_path / "roboflow_csv") == sides | {"images": ""}
    assert settings_of(tmp_path / "roboflow_coco") == coco_sides | {"skip_supercategories": True}
    settings = settings_of(tmp_path / "cvat_coco")
    assert settings == {"annotations": "annotations/instances_default.json", "images": "images/default"}
    lists = {"train_list": "ImageSets/Main/train.txt", "validation_list": "ImageSets/Main/val.txt"}
    settings = settings_of(tmp_path / "cvat_voc")
    assert settings == {"images": "JPEGImages", "annotations": "Annotations", "split": lists}
    beside = {"images": "", "annotations": ""}
    assert settings_of(tmp_path / "label_img_yolo") == beside | {"labels": "shots/classes.txt"}
    assert settings_of(tmp_path / "roboflow_yolo") == {}


def test_lists_that_name_pictures_in_another_way_are_left_alone(tmp_path: Path) -> None:
    cvat_voc(tmp_path)
    write(tmp_path / "ImageSets/Main/val.txt", "day/frame_000004\n")
    assert settings_of(tmp_path) == {"images": "JPEGImages", "annotations": "Annotations"}


def test_the_boxes_of_a_cvat_task_become_records(make: Build, tmp_path: Path) -> None:
    cvat_yolo(tmp_path / "set")
    survey, _ = survey_folder(tmp_path / "set")
    built = make(make_source(survey.layout, "set"))
    assert built.manifest.classes == ("ball", "cube")
    assert built.names("validation") == [f"obj_valid_data/frame_{number:06d}.PNG" for number in (4, 5, 6)]
    row = built.rows("train")["obj_train_data/frame_000001.PNG"]
    corners = [row[f"image/object/bbox/{side}"][0] for side in ("xmin", "ymin", "xmax", "ymax")]
    assert corners == pytest.approx([3 / 40, 3 / 30, 13 / 40, 13 / 30], abs=1e-6)
    [split] = built.findings.split
    assert missing_in(split, "obj.data", "train", "val") == []


@pytest.mark.parametrize("write_layout", [roboflow_coco, roboflow_voc, label_studio_yolo])
def test_records_of_a_layout_hold_its_boxes(write_layout: object, make: Build, tmp_path: Path) -> None:
    write_layout(tmp_path / "set")  # type: ignore[operator]
    built = make(make_source(survey_folder(tmp_path / "set")[0].layout, "set"))
    assert built.manifest.classes == ("ball", "cube")
    rows = built.every() | (built.rows("test") if "test" in built.manifest.splits else {})
    assert len(rows) == 7
    assert sorted(len(row["image/object/bbox/xmin"]) for row in rows.values()) == [1, 1, 1, 2, 2, 2, 2]


def test_pictures_in_folders_of_classes(make: Build, tmp_path: Path) -> None:
    for seed, side in enumerate(("train", "valid", "test")):
        write_images(tmp_path / "set" / side, {"cat": 3, "dog": 2}, first_seed=10 * seed)
    write(tmp_path / "set/README.roboflow.txt", "pets")
    survey, _ = survey_folder(tmp_path / "set")
    assert (survey.layout.kind, survey.layout.settings, survey.classes) == ("image_folders", {}, ["cat", "dog"])
    assert dict(survey.images) == {"train": 5, "validation": 5, "test": 5}
    assert make(make_source(survey.layout, "set")).manifest.classes == ("cat", "dog")


def test_folders_of_classes_in_folders_of_dates(make: Build, tmp_path: Path) -> None:
    days = ["2026-03-01", "2026-03-02 evening", "20260303", "04.03.2026"]
    for seed, day in enumerate(days):
        write_images(tmp_path / "set" / day, {"cat": 2, "dog": 2}, first_seed=10 * seed)
    survey, _ = survey_folder(tmp_path / "set")
    assert survey.layout.settings == {"dated": True, "split": {"group": "^([^/]+)/"}}
    assert survey.classes == ["cat", "dog"] and survey.objects["cat", "no side"] == 8
    built = make(make_source(survey.layout, "set"))
    train, validation = ({name.partition("/")[0] for name in built.names(side)} for side in ("train", "validation"))
    assert train | validation == set(days) and not train & validation
    with pytest.raises(DataError, match=r"no folder of a class.*\(data\.dated\)"):
        list(ImageFolders(path="x", dated=True).items(tmp_path / "set/20260303"))


def test_pictures_of_days_with_boxes_stay_together_by_day(tmp_path: Path) -> None:
    dated_voc(tmp_path)
    assert settings_of(tmp_path) == {"images": "", "annotations": "", "split": {"group": "^([^/]+)/"}}


@pytest.mark.parametrize(
    ("films", "split"),
    [(("one",), {"by": "blocks"}), (("one", "two"), {"group": r"([^/]+)_\d+ms[._]"})],
)
def test_frames_of_a_film_never_part(films: tuple[str, ...], split: dict[str, str], tmp_path: Path) -> None:
    for film in films:
        for number in range(3):
            picture(tmp_path / f"images/{film}_0000{number}500ms.jpg", number, "JPEG")
            write(tmp_path / f"annotations/{film}_0000{number}500ms.xml", voc_xml("", number))
    assert settings_of(tmp_path) == {"split": split}


def test_where_training_is_all_there_is_validation_is_drawn_from_it(make: Build, tmp_path: Path) -> None:
    """As CVAT writes a task as YOLO for Ultralytics."""
    for number in range(7):
        picture(tmp_path / f"set/images/train/{number}.png", number)
        write(tmp_path / f"set/labels/train/{number}.txt", yolo_text(number))
    write(tmp_path / "set/train.txt", "".join(f"data/images/train/{number}.png\n" for number in range(7)))
    write(tmp_path / "set/data.yaml", "path: .\ntrain: train.txt\nnames:\n  0: ball\n  1: cube\n")
    survey, _ = survey_folder(tmp_path / "set")
    assert survey.layout.settings == {"split": {"by": "fraction"}} and dict(survey.images) == {TRAIN: 7}
    assert len(make(make_source(survey.layout, "set")).names(VALIDATION)) in (1, 2)


def test_clips_in_folders_of_classes(tmp_path: Path) -> None:
    for number, label in enumerate(("still", "waving")):
        write_video(tmp_path / label / "1.avi", frames=3, seed=number)
    survey, _ = survey_folder(tmp_path)
    assert (survey.layout.kind, survey.layout.settings, survey.total) == ("clips", {"max_side": 256}, 2)


def test_of_two_layouts_the_larger_is_taken_and_the_other_can_be_asked_for(tmp_path: Path) -> None:
    label_studio_yolo(tmp_path)
    write(tmp_path / "images/3f2a-frame_0.xml", voc_xml("", 0))
    survey, [other] = survey_folder(tmp_path)
    assert (survey.layout.kind, survey.total, other.layout.kind, other.total) == ("yolo", 7, "pascal_voc", 1)
    assert survey_folder(tmp_path, "pascal_voc")[0].total == 1
    message = "read as coco"
    with pytest.raises(DataError, match=message):
        survey_folder(tmp_path, "coco")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"set: is empty$"),
        ({"notes.md": b"x"}, r"set: .*no known layout.*docs/import\.md"),
        ({"1.jpg": b"\xff\xd8"}, r"set: .*:\n  image_folders \(a folder of pictures\): .*without any label"),
        ({"2026-03-01/1.jpg": b"\xff\xd8"}, r"image_folders \(folders of dates\): .*without any label"),
        ({"a.mp4": b"x"}, r"clips \(films\): .*without any label.*`bakeoff frames`"),
        (
            {"images/1.jpg": b"\xff\xd8", "labels/1.txt": b"0 .5 .5 .1 .1"},
            r"yolo \(YOLO\): none of data\.yaml, .*classes\.txt, one name a line",
        ),
        (
            {"images/1.jpg": b"\xff\xd8", "labels/1.txt": b"0 .5 .5 .1 .1", "field.yaml": b"names: [a]"},
            r"rename field\.yaml to data\.yaml$",
        ),
        ({"obj.names": b"a", "obj_train_data/1.txt": b"0 .5 .5 .1 .1"}, r"yolo \(YOLO\): no picture\b"),
        ({"1.xml": voc_xml("1.jpg", 1).encode()}, r"pascal_voc \(Pascal VOC\): 1\.xml .*no picture\b"),
        (
            {"labels.csv": b"filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,1,1,c,0,0,1,1\n"},
            r"box_csv \(CSV of boxes\): labels\.csv .*'a\.jpg'.*not there",
        ),
        (
            {"a.json": b'{"images": [], "categories": [], "annotations": []}'},
            r"coco \(COCO\): a\.json .*no image$",
        ),
    ],
)  # fmt: skip
def test_missing_parts_are_reported(files: dict[str, bytes], message: str, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for name, content in files.items():
        write(tmp_path / "set" / name, content)
    with pytest.raises(DataError, match=message):
        survey_folder(tmp_path / "set")


def test_a_folder_without_usable_images_is_reported_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path / "images/1.jpg", "<html>")
    write(tmp_path / "annotations/1.xml", voc_xml("", 1))
    message = r"pascal_voc \(Pascal VOC in annotations/\): .*images/1\.jpg: no image\b.*web page"
    with pytest.raises(DataError, match=message):
        survey_folder(tmp_path)


# What the sources read since then, without the command.


def list_boxes(source: Dataset, root: Path) -> dict[str, int]:
    return {item.name: len(item.boxes) for item in source.items(root) if not item.problem}


def test_yolo_text_may_lie_beside_the_pictures(tmp_path: Path) -> None:
    label_img_yolo(tmp_path)
    write(tmp_path / "shots/lost.txt", "0 0.5 0.5 0.1 0.1\n")
    write(tmp_path / "README.txt", "five of seven\n")
    write(tmp_path / "shots/1.xml", voc_xml("1.png", 1))  # labels of another format
    source = Yolo(path="x", images="", annotations="", labels="shots/classes.txt")
    assert list_boxes(source, tmp_path) == {f"shots/{number}.png": 1 + (number % 2 == 0) for number in range(7)}
    [lost] = [item for item in source.items(tmp_path) if item.problem]
    assert lost.name == "shots/lost.txt" and "without an image" in lost.problem
    write(tmp_path / "texts/classes.txt", "ball\n")
    with pytest.raises(DataError, match=r"texts: .*no image.*\(data\.images\)"):
        list(Yolo(path="x", images="", annotations="").items(tmp_path / "texts"))
    with pytest.raises(ValueError, match=r"annotations: .*empty.*data\.images.*'labels'"):
        Yolo(path="x", images="")
    with pytest.raises(ValueError, match=r"annotations: .*a folder.*data\.images.*''"):
        Yolo(path="x", annotations="")


def test_obj_data_names_the_file_of_the_classes(tmp_path: Path) -> None:
    cvat_yolo(tmp_path)
    (tmp_path / "obj.names").rename(tmp_path / "field.names")
    source = Yolo(path="x", images="", annotations="")
    write(tmp_path / "obj.data", "# ours\nnames = data/field.names\n")
    assert source.declared_classes(tmp_path) == ["ball", "cube"]
    write(tmp_path / "obj.data", "classes = 2\nnames = data/none.names\n")
    with pytest.raises(DataError, match=r"obj\.data: line 2: names .*'data/none\.names'"):
        source.declared_classes(tmp_path)


def test_a_picture_in_no_list_of_obj_data_is_ignored(tmp_path: Path) -> None:
    cvat_yolo(tmp_path)
    picture(tmp_path / "extra/9.png", 9)
    [extra] = [item for item in Yolo(path="x", images="", annotations="").items(tmp_path) if item.path == "extra/9.png"]
    assert extra.ignored and missing_in(extra.problem or "", "none of the sides", "obj.data") == []


@pytest.mark.parametrize(
    ("option", "digest"),
    [
        ("coco", "5d5937a8c7b92e5450ba49918c127db67b3b3d9f2ac2517d63beba0b453473c2"),
        ("image_folders", "700fddc5cad66e4ebd63ddfe2a4ecb7dc85e21f7ab18e74151630da12e0c88e6"),
        ("yolo", "cd3faddb81fabcdbc73cd8f591b23cde28f45e89a76f09cb6d0520a9b7538c21"),
    ],
)
def test_records_of_before_these_keys_stay_good(option: str, digest: str, tmp_path: Path) -> None:
    """The digests are those that version 0.7 wrote into manifests."""
    params = write(tmp_path / "params.yaml", f"data: {{use: {option}}}\n")
    assert choose_source(params, ROOT / "conf").digest == digest


def test_a_supercategory_is_a_class_unless_it_is_skipped(tmp_path: Path) -> None:
    categories = [
        {"id": 0, "name": "things", "supercategory": "none"},
        {"id": 1, "name": "cat", "supercategory": "things"},
    ]
    categories.append({"id": 2, "name": "person", "supercategory": "person"})
    tree = {"images": [{"id": 1, "file_name": "1.jpg"}], "categories": categories, "annotations": []}
    write(tmp_path / "annotations.json", json.dumps(tree))
    assert Coco(path="x").declared_classes(tmp_path) == ["things", "cat", "person"]
    assert Coco(path="x", skip_supercategories=True).declared_classes(tmp_path) == ["cat", "person"]
    tree["annotations"] = [{"image_id": 1, "category_id": 0, "bbox": [1, 1, 5, 5]}]
    write(tmp_path / "annotations.json", json.dumps(tree))
    write(tmp_path / "1.jpg", encoded(1))
    [item] = Coco(path="x", skip_supercategories=True).items(tmp_path)
    assert missing_in(item.problem or "", "category_id 0 ", "2 categories") == []
