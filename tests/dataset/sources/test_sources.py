"""Folders of every kind, each as a team may have it, built into records and read back."""

import json
import os
import re
import socket
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.records.wire import encode_blobs, encode_integers, encode_texts
from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import SplitSettings
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.dataset.sources.voc import PascalVoc, parse_xml
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import NO_REGULAR_FILE
from support.built import Build
from support.drawing import encoded, pixels, voc, write, write_images, write_numbered, write_scenes, write_video
from support.foreign_records import scene, write_records
from support.messages import missing_in

ALL = 1.0  # any share may be rejected


def boxes_of(row: dict) -> list[tuple]:
    """(label, id, xmin, ymin, xmax, ymax) in pixels of the 32x24 images."""
    corners = zip(*(row[f"image/object/bbox/{side}"] for side in ("xmin", "ymin", "xmax", "ymax")), strict=True)
    labels = zip(row["image/object/class/text"], row["image/object/class/label"], strict=True)
    return [
        (text.decode(), number, *(round(share * side, 3) for share, side in zip(place, (32, 24, 32, 24), strict=True)))
        for (text, number), place in zip(labels, corners, strict=True)
    ]


def label_of(row: dict) -> tuple[list[str], list[int]]:
    return [text.decode() for text in row["image/class/text"]], list(row["image/class/label"])


# Image folders.


def test_folders_name_classes_and_sides(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/train", {"cat": 3, "dog": 2})
    write_images(tmp_path / "set/validation", {"cat": 1, "dog": 1}, first_seed=100)
    built = make(ImageFolders(path="set"))
    assert built.names("train") == [f"train/cat/00{n}.jpg" for n in range(3)] + [
        f"train/dog/00{n}.jpg" for n in range(2)
    ]
    assert built.names("validation") == ["validation/cat/000.jpg", "validation/dog/000.jpg"]
    assert label_of(built.every()["train/dog/001.jpg"]) == (["dog"], [2])
    assert built.manifest.splits["train"].counts == {"cat": 3, "dog": 2}
    assert (tmp_path / "records/labels.txt").read_text() == "cat\ndog\n"


@pytest.mark.parametrize("folder", ["val", "valid", "eval", "Validation", "test"])
def test_other_names_for_validation_are_understood(folder: str, make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set/train", {"cat": 2})
    write_images(tmp_path / f"set/{folder}", {"cat": 1}, first_seed=100)
    assert make(ImageFolders(path="set")).names("validation") == [f"{folder}/cat/000.jpg"]


def test_a_test_side_beside_validation_is_a_split_of_its_own(make: Build, tmp_path: Path) -> None:
    for seed, side in enumerate(("train", "val", "test")):
        write_images(tmp_path / "set" / side, {"cat": 2 + seed}, first_seed=100 * seed)
    built = make(ImageFolders(path="set"))
    assert {name: split.examples for name, split in built.manifest.splits.items()} == {
        "train": 2, "validation": 3, "test": 4,
    }  # fmt: skip
    assert built.findings.counts["left out"] == 0


def test_a_labels_file_fixes_the_order_and_a_class_without_images_is_reported(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 4, "dog": 4})
    write(tmp_path / "set/labels.txt", "dog\nemu\ncat\n")
    built = make(ImageFolders(path="set", labels="labels.txt"))
    assert built.manifest.classes == ("dog", "emu", "cat")
    assert label_of(built.every()["cat/000.jpg"]) == (["cat"], [3])
    assert "class 'emu' has no example" in built.findings.warnings


def test_a_folder_that_the_labels_file_lacks_is_an_error(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 2, "dgo": 2})
    write(tmp_path / "set/labels.txt", "cat\ndog\n")
    with pytest.raises(DataError, match=r"labels\.txt: lacks 1 of the labels .*'dgo' \(it has 'dog'\)"):
        make(ImageFolders(path="set", labels="labels.txt"))


def test_a_file_is_an_image_by_name_or_by_content(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    write(tmp_path / "set/cat/without_ending", encoded(50))
    write(tmp_path / "set/cat/UPPER.JPG", encoded(51))
    write(tmp_path / "set/cat/notes.txt", "not an image")
    write(tmp_path / "set/cat/.hidden.jpg", "not seen at all")
    built = make(ImageFolders(path="set"))
    assert len(built.every()) == 5
    report = built.report
    [(name, reason)] = report["ignored"].items()
    assert name == "cat/notes.txt" and "no image" in reason
    assert report["rejected"] == {}


@pytest.mark.parametrize(
    ("arrange", "message"),
    [
        (lambda root: None, r"set: no such folder \(data\.path\).*`dvc add set`"),
        (lambda root: root.mkdir(), "set: has no folder"),
        (lambda root: (root / "cat").mkdir(parents=True), "set: is empty"),
        (lambda root: write_images(root / "train", {"cat": 3}), "set: no example .*validation;"),
        (lambda root: write_images(root, {"cat": 1}), "set: no example .*validation;"),
        (
            lambda root: (write_images(root / "train", {"cat": 1}), write_images(root / "other", {"dog": 1})),
            r"set: .*\btrain/ .*\bside\b.*\bother/ .*\bclass",
        ),
    ],
)  # fmt: skip
def test_an_empty_folder_or_side_is_a_clear_error(
    arrange: Callable[[Path], object], message: str, make: Build, tmp_path: Path
) -> None:
    arrange(tmp_path / "set")
    with pytest.raises(DataError, match=message):
        make(ImageFolders(path="set"))


# Pascal VOC.


def write_voc(root: Path) -> None:
    write_scenes(root, 4)
    write(root / "annotations/3.xml", voc([("dog", 0, 0, 32, 24), ("cat", 8, 12, 16, 24)]))
    write(root / "images/empty.jpg", encoded(40))
    write(root / "annotations/empty.xml", voc([]))


def test_pascal_voc(make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "set")
    built = make(PascalVoc(path="set"))
    rows = built.every()
    assert boxes_of(rows["images/0.jpg"]) == [("cat", 1, 4, 6, 20, 18)]
    assert boxes_of(rows["images/3.jpg"]) == [("dog", 2, 0, 0, 32, 24), ("cat", 1, 8, 12, 16, 24)]
    assert boxes_of(rows["images/empty.jpg"]) == []
    assert built.manifest.task == "detection"
    assert rows["images/0.jpg"]["image/encoded"] == [encoded(0)]


def test_boxes_of_the_training_side_are_in_the_table_in_record_order(make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "set")
    built = make(PascalVoc(path="set"))
    expected = [
        [row[f"image/object/bbox/{side}"][n] for side in ("ymin", "xmin", "ymax", "xmax")]
        for row in built.rows("train").values()
        for n in range(len(row["image/object/class/label"]))
    ]
    assert np.load(tmp_path / "records/boxes.npy").tolist() == expected


def test_annotations_and_images_without_each_other_are_reported(make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "set")
    write(tmp_path / "set/images/alone.jpg", encoded(41))
    write(tmp_path / "set/annotations/lost.xml", voc([("cat", 1, 1, 5, 5)], name="gone.jpg"))
    write(tmp_path / "set/annotations/bad.xml", "<annotation><object>")
    write(tmp_path / "set/images/bad.jpg", encoded(42))
    rejected = make(PascalVoc(path="set", max_rejected=ALL)).report["rejected"]
    assert missing_in(rejected["images/alone.jpg"], "no annotation", "data.unlabelled") == []
    assert missing_in(rejected["images/gone.jpg"], "annotations/lost.xml", "no such file") == []
    assert missing_in(rejected["annotations/bad.xml"], "broken XML") == []
    assert "images/bad.jpg" not in rejected


@pytest.mark.parametrize(("rule", "kept"), [("negative", True), ("skip", False)])
def test_unlabelled_images_may_be_negatives_or_skipped(rule: str, kept: bool, make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "set")
    write(tmp_path / "set/images/alone.jpg", encoded(41))
    built = make(PascalVoc(path="set", unlabelled=rule))  # type: ignore[arg-type]
    assert ("images/alone.jpg" in built.every()) == kept
    assert built.findings.counts["rejected"] == 0


def test_an_image_annotated_by_its_recorded_name_only(make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "set")
    write(tmp_path / "set/images/photo.jpg", encoded(41))
    write(tmp_path / "set/annotations/other_name.xml", voc([("cat", 1, 1, 5, 5)], name="photo.jpg"))
    write(tmp_path / "set/annotations/again.xml", voc([("cat", 1, 1, 9, 9)], name="photo.jpg"))
    built = make(PascalVoc(path="set", max_rejected=ALL))
    assert boxes_of(built.every()["images/photo.jpg"]) == [("cat", 1, 1, 1, 9, 9)]  # again.xml comes first
    rejected = built.report["rejected"]
    [(name, reason)] = rejected.items()
    assert name == "images/photo.jpg (2)" and missing_in(reason, "twice", "first") == []


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<annotation><filename>&b;</filename></annotation>"""
FETCH = '<!DOCTYPE x SYSTEM "http://example.invalid/x.dtd"><annotation/>'


@pytest.mark.parametrize("text", [BOMB, FETCH])
def test_xml_that_declares_entities_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="document type.*entities"):
        parse_xml(text.encode())


@pytest.mark.parametrize("name", ["../../secret.jpg", "/etc/passwd.jpg", "..\\secret.jpg", "a/../../secret.jpg"])
def test_an_annotation_reaches_no_file_outside_of_the_folder(name: str, make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "set")
    write(tmp_path / "secret.jpg", encoded(99))
    write(tmp_path / "set/annotations/evil.xml", voc([("cat", 1, 1, 5, 5)], name=name))
    built = make(PascalVoc(path="set", max_rejected=ALL))
    assert built.findings.counts["rejected"] == 1
    assert encoded(99) not in [row["image/encoded"][0] for row in built.every().values()]


def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_fine(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    write(tmp_path / "secret.jpg", encoded(99))
    (tmp_path / "set/cat/out.jpg").symlink_to(tmp_path / "secret.jpg")
    (tmp_path / "set/cat/loop").symlink_to(tmp_path / "set")
    built = make(ImageFolders(path="set", max_rejected=ALL))
    rejected = built.report["rejected"]
    assert rejected.keys() == {"cat/loop", "cat/out.jpg"}
    assert "link to a folder" in rejected["cat/loop"] and "link that leaves" in rejected["cat/out.jpg"]
    assert len(built.every()) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with a name")
def test_only_regular_files_are_read(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    os.mkfifo(tmp_path / "set/cat/pipe.jpg")
    os.mkfifo(tmp_path / "set/cat/pipe")
    (tmp_path / "set/cat/self.jpg").symlink_to("self.jpg")
    (tmp_path / "set/cat/nothing.jpg").symlink_to("nowhere.jpg")
    with socket.socket(socket.AF_UNIX) as door:
        with chdir(tmp_path / "set/cat"):  # the name of a socket is short
            door.bind("door.jpg")
        built = make(ImageFolders(path="set", max_rejected=ALL))
    rejected = json.loads((tmp_path / "records/report.json").read_text())["rejected"]
    assert rejected.keys() == {f"cat/{name}" for name in ("door.jpg", "nothing.jpg", "pipe", "pipe.jpg", "self.jpg")}
    assert {rejected[f"cat/{name}"] for name in ("door.jpg", "pipe", "pipe.jpg")} == {NO_REGULAR_FILE}
    assert len(built.every()) == 3


def test_names_with_control_characters_are_refused_and_shown_harmless(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    write(tmp_path / "set/cat/a\x1b[31mred\n.jpg", encoded(60))
    write(tmp_path / "set/cat/é 图 <b>.jpg", encoded(61))
    built = make(ImageFolders(path="set", max_rejected=ALL))
    assert "cat/é 图 <b>.jpg" in built.every()
    assert missing_in(built.findings.reasons[0], r"rejected: cat/a\x1b[31mred\x0a.jpg: ", "control characters") == []
    page = (tmp_path / "records/report.html").read_text()
    assert "\x1b" not in page and "&lt;b&gt;.jpg" in page


# COCO.


def coco(images: list[tuple[int, str]], boxes: list[tuple[int, int, list]], **more: object) -> str:
    tree = {
        "images": [{"id": number, "file_name": name, "width": 32, "height": 24} for number, name in images],
        "categories": [{"id": 7, "name": "dog"}, {"id": 3, "name": "cat"}],
        "annotations": [{"image_id": image, "category_id": kind, "bbox": box} for image, kind, box in boxes],
    }
    return json.dumps(tree | more)


def test_coco_has_ids_in_the_order_of_its_categories(make: Build, tmp_path: Path) -> None:
    write_numbered(tmp_path / "set", 4)
    images = [(number, f"{number}.jpg") for number in range(4)]
    boxes = [(0, 7, [4, 6, 16, 12]), (0, 3, [0, 0, 32, 24]), (1, 7, [1, 1, 2, 2]), (2, 3, [1, 1, 2, 2])]
    write(tmp_path / "set/annotations.json", coco(images, boxes))
    built = make(Coco(path="set"))
    assert built.manifest.classes == ("cat", "dog")
    assert boxes_of(built.every()["0.jpg"]) == [("dog", 2, 4, 6, 20, 18), ("cat", 1, 0, 0, 32, 24)]
    assert boxes_of(built.every()["3.jpg"]) == []


def test_coco_mistakes_are_reported_by_image(make: Build, tmp_path: Path) -> None:
    write_numbered(tmp_path / "set", 4)
    images = [(number, f"{number}.jpg") for number in range(5)] + [(9, "../x.jpg")]
    boxes = [(0, 99, [1, 1, 2, 2]), (1, 3, [1, 1, 2]), (77, 3, [1, 1, 2, 2]), (2, 3, [1, 1, 2, 2])]
    write(tmp_path / "set/annotations.json", coco(images, boxes))
    rejected = make(Coco(path="set", max_rejected=ALL)).report["rejected"]
    named = {
        "0.jpg": ("category_id 99", "2 categories"),
        "1.jpg": ("bbox", "four", "[1, 1, 2]"),
        "4.jpg": ("no such file",),
        "../x.jpg": ("leaves the dataset's folder",),
        "annotations.json#image_id=77": ("1 boxes", "not listed"),
    }
    assert rejected.keys() == named.keys()
    assert [name for name, parts in named.items() if missing_in(rejected[name], *parts)] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "annotations.json: not valid JSON"),
        ("[]", r"annotations\.json.*images .*list .*id, file_name"),
        ('{"images": [{"id": 1}]}', r"annotations\.json.*images .*list .*id, file_name"),
        (coco([], [], categories=[{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]), r"annotations\.json.*twice"),
    ],
)
def test_a_coco_file_of_another_shape_is_an_error(text: str, message: str, make: Build, tmp_path: Path) -> None:
    write(tmp_path / "set/annotations.json", text)
    with pytest.raises(DataError, match=message):
        make(Coco(path="set"))


def test_coco_images_of_one_id_are_refused_for_whose_boxes_are_whose_is_unknown(make: Build, tmp_path: Path) -> None:
    """As two files make that were put into one without numbering their images anew."""
    write_numbered(tmp_path / "set", 4)
    images = [(1, "0.jpg"), (2, "1.jpg"), (3, "2.jpg"), (1, "3.jpg"), (2, "1.jpg")]
    boxes = [(1, 7, [4, 6, 16, 12]), (1, 3, [0, 0, 8, 8]), (2, 7, [1, 1, 2, 2]), (3, 3, [1, 1, 2, 2])]
    write(tmp_path / "set/annotations.json", coco(images, boxes))
    rows = make(Coco(path="set", max_rejected=ALL)).every()
    assert sorted(rows) == ["1.jpg", "2.jpg"] and len(boxes_of(rows["1.jpg"])) == 1
    rejected = json.loads((tmp_path / "records/report.json").read_text())["rejected"]
    assert rejected.keys() == {"0.jpg", "3.jpg", "1.jpg (2)"}
    for name in ("0.jpg", "3.jpg"):
        assert missing_in(rejected[name], "'0.jpg' and '3.jpg'", "same id 1", "annotations.json") == []
    assert missing_in(rejected["1.jpg (2)"], "twice", "first") == []


@pytest.mark.parametrize(
    ("label", "why"),
    [("a\nb", r"'a\\nb' has a line break"), ("a" * 201, "has more than 200 characters"), ("\u2028", "is empty")],
)
def test_a_class_that_is_no_line_is_refused_wherever_it_stands(
    label: str, why: str, make: Build, tmp_path: Path
) -> None:
    """In labels.txt every class after it would have another's id."""
    write_voc(tmp_path / "voc")
    write(tmp_path / "voc/annotations/2.xml", voc([("cat", 4, 6, 20, 18), (label, 1, 1, 5, 5)]))
    make(PascalVoc(path="voc", max_rejected=ALL))
    write_numbered(tmp_path / "set/images", 3)
    rows = [f"{number}.jpg,32,24,cat,1,1,5,5" for number in (0, 1)] + [f'2.jpg,32,24,"{label}x",1,1,5,5']
    if label.strip():  # else the XML has no name
        assert re.search(why, json.loads((tmp_path / "records/report.json").read_text())["rejected"]["images/2.jpg"])
        write(tmp_path / "set/labels.csv", "\n".join([HEAD, *rows]))
        make(BoxCsv(path="set", max_rejected=ALL))
        assert (tmp_path / "records/labels.txt").read_text() == "cat\n"
    write(
        tmp_path / "set/annotations.json", coco([], [], categories=[{"id": 1, "name": "a"}, {"id": 2, "name": label}])
    )
    with pytest.raises(DataError, match=rf"annotations\.json: class 2, .*{why.split(' ', 1)[-1]}.*; rename it"):
        make(Coco(path="set"))


@pytest.mark.parametrize("name", [None, True, ["a"], {}, ""])
def test_a_coco_category_without_a_name_is_an_error(name: object, make: Build, tmp_path: Path) -> None:
    write(tmp_path / "set/annotations.json", coco([], [], categories=[{"id": 1, "name": name}]))
    with pytest.raises(
        DataError, match=r"annotations\.json: (categories\[0\]\.name must be a text, got|class 1, '', is)"
    ):
        make(Coco(path="set"))


@pytest.mark.parametrize("odd", [[1], {"a": 1}, None, True, 2**64, 1.5, "x" * 300, ""])
def test_a_coco_id_that_cannot_be_used_is_reported_by_its_place(odd: object, make: Build, tmp_path: Path) -> None:
    write_numbered(tmp_path / "set", 3)
    tree = json.loads(coco([(1, "0.jpg"), (2, "1.jpg"), (3, "2.jpg")], [(n, 3, [1, 1, 5, 5]) for n in (1, 2, 3)]))
    tree["images"][2]["id"] = tree["annotations"][2]["image_id"] = odd
    tree["annotations"][1]["category_id"] = odd
    write(tmp_path / "set/annotations.json", json.dumps(tree))
    with pytest.raises(DataError) as caught:
        make(Coco(path="set"))
    for place in ("json#images[2]: id ", "json#annotations[2]: image_id ", "1.jpg: category_id "):
        [line] = [line for line in str(caught.value).splitlines() if place in line]
        assert missing_in(line, place, "number", "text") == []


# YOLO.


@pytest.mark.parametrize(
    ("image", "text"), [("images/{}/{}.jpg", "labels/{}/{}.txt"), ("{}/images/{}.jpg", "{}/labels/{}.txt")]
)
@pytest.mark.parametrize("names", ["[cat, dog]", "{0: cat, 1: dog}"])
def test_yolo_in_both_arrangements(image: str, text: str, names: str, make: Build, tmp_path: Path) -> None:
    for number, side in enumerate(("train", "train", "val")):
        write(tmp_path / "set" / image.format(side, number), encoded(number))
        write(tmp_path / "set" / text.format(side, number), "1 0.5 0.5 0.5 0.25\n\n0 0.25 0.5 0.25 0.5\n")
    write(tmp_path / "set/data.yaml", f"names: {names}\n")
    built = make(Yolo(path="set"))
    assert len(built.names("train")) == 2
    [row] = built.rows("validation").values()
    assert boxes_of(row) == [("dog", 2, 8, 9, 24, 15), ("cat", 1, 4, 6, 12, 18)]


def test_yolo_polygons_count_as_the_box_around_them(make: Build, tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / f"set/images/{number}.jpg", encoded(number))
        write(tmp_path / f"set/labels/{number}.txt", "0 0.25 0.5 0.5 0.25 0.75 0.75\n")
    write(tmp_path / "set/classes.txt", "cat\n")
    assert boxes_of(make(Yolo(path="set")).every()["images/0.jpg"]) == [("cat", 1, 8, 6, 24, 18)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 0.5 0.5 0.1 0.1", r"line 1\b.*class 2\b.*\b0 to 1$"),
        ("-1 0.5 0.5 0.1 0.1", r"line 1\b.*class -1\b.*\b0 to 1$"),
        ("0 0.5 0.5 0.1", r"line 1\b.*`class x y width height`.*\b4\b"),
        ("cat 0.5 0.5 0.1 0.1", r"line 1\b.*numbers.*'cat 0\.5 0\.5 0\.1 0\.1'"),
        ("0 nan 0.5 0.1 0.1", r"line 1\b.*numbers.*\bnan\b"),
        ("0 0.5 0.5 1.5 0.1", r"box 1 \(cat\) .*xmin -8\b.*\b32x24"),
    ],
)
def test_yolo_mistakes_are_reported_by_line(text: str, message: str, make: Build, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"set/images/{number}.jpg", encoded(number))
        write(tmp_path / f"set/labels/{number}.txt", "0 0.5 0.5 0.5 0.5")
    write(tmp_path / "set/labels/0.txt", text)
    write(tmp_path / "set/labels/lonely.txt", "")
    write(tmp_path / "set/data.yaml", "names: [cat, dog]")
    rejected = make(Yolo(path="set", max_rejected=ALL)).report["rejected"]
    assert sorted(rejected) == ["images/0.jpg", "labels/lonely.txt"]
    assert re.search(message, rejected["images/0.jpg"])


def test_yolo_without_names_is_an_error(make: Build, tmp_path: Path) -> None:
    write(tmp_path / "set/images/0.jpg", encoded(0))
    with pytest.raises(DataError, match=r"set: .*names of .*classes.*data\.labels"):
        make(Yolo(path="set"))


# The Object Detection API's CSV.

HEAD = "filename,width,height,class,xmin,ymin,xmax,ymax"


def test_csv_rows_of_an_image_may_be_anywhere(make: Build, tmp_path: Path) -> None:
    write_numbered(tmp_path / "set/images", 3)
    rows = ["0.jpg,32,24,cat,4,6,20,18", "1.jpg,32,24,dog,0,0,32,24", "0.jpg,32,24,dog,1,2,3,4", "2.jpg,32,24,,,,,"]
    write(tmp_path / "set/labels.csv", "\n".join([HEAD, *rows]))
    rows_by_name = make(BoxCsv(path="set")).every()
    assert boxes_of(rows_by_name["images/0.jpg"]) == [("cat", 1, 4, 6, 20, 18), ("dog", 2, 1, 2, 3, 4)]
    assert boxes_of(rows_by_name["images/2.jpg"]) == []


def test_csv_with_a_column_for_the_split(make: Build, tmp_path: Path) -> None:
    write_numbered(tmp_path / "set/images", 3)
    rows = [f"{n}.jpg,32,24,cat,4,6,20,18,{side}" for n, side in enumerate(["train", "val", "train"])]
    write(tmp_path / "set/labels.csv", "\n".join([HEAD + ",split", *rows]))
    assert make(BoxCsv(path="set")).names("validation") == ["images/1.jpg"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0.jpg,32,24,cat,4,six,20,18", r"labels\.csv: line 2\b.*\bymin .*'six'$"),
        ("0.jpg,inf,24,cat,4,6,20,18", r"labels\.csv: line 2\b.*\bwidth .*'inf'$"),
        ("0.jpg,32,24,,4,6,20,18", r"labels\.csv: line 2\b.*without a class$"),
        ("gone.jpg,32,24,cat,4,6,20,18", "^no such file$"),
        ("../0.jpg,32,24,cat,4,6,20,18", "leaves the dataset's folder$"),
    ],
)
def test_csv_mistakes_are_reported_by_line(row: str, message: str, make: Build, tmp_path: Path) -> None:
    write_numbered(tmp_path / "set/images", 3)
    good = [f"{number}.jpg,32,24,cat,4,6,20,18" for number in (1, 2)]
    write(tmp_path / "set/labels.csv", "\n".join([HEAD, row, *good]))
    rejected = make(BoxCsv(path="set", max_rejected=ALL)).report["rejected"]
    assert any(re.search(message, reason) for reason in rejected.values())


def test_csv_without_a_column_is_an_error(make: Build, tmp_path: Path) -> None:
    write(tmp_path / "set/labels.csv", "filename,label\n")
    with pytest.raises(DataError, match=r"labels\.csv:1: .*\bwidth;.*\bfilename, label"):
        make(BoxCsv(path="set"))


# Clips.


def clip_of(row: dict) -> tuple[int, float, list[int]]:
    shape = [row["image/height"][0], row["image/width"][0]]
    return len(row["clip/frames"]), row["clip/frames_per_second"][0], shape


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "avi", "mov", "webm", "gif"])
def test_a_video_of_every_kind_becomes_frames_at_its_rate(suffix: str, make: Build, tmp_path: Path) -> None:
    for number in range(2):
        write_video(tmp_path / f"set/move/{number}.{suffix}", frames=8, seed=number)
    rows = make(Clips(path="set")).every()
    for number in range(2):
        row = rows[f"move/{number}.{suffix}"]
        assert clip_of(row) == (8, 10.0, [48, 64])
        decoded = decode(row["clip/frames"][4])
        assert np.abs(decoded - pixels(number * 1000 + 1, 64, 48)).mean() < (25 if suffix == "gif" else 12)
    assert label_of(row) == (["move"], [1])


def decode(data: bytes) -> np.ndarray:
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(data))).astype(int)


def test_a_folder_of_frames_is_a_clip_in_the_order_of_its_numbers(make: Build, tmp_path: Path) -> None:
    for clip in ("a", "b"):
        for number in (1, 2, 10):
            write(tmp_path / f"set/move/{clip}/{number}.png", encoded(number + ord(clip) * 100, "PNG"))
    row = make(Clips(path="set", frames_per_second=12.5)).every()["move/a"]
    assert clip_of(row) == (3, 12.5, [24, 32])
    for place, number in enumerate((1, 2, 10)):
        assert np.abs(decode(row["clip/frames"][place]) - pixels(number + 9700)).mean() < 4


def test_frames_may_have_any_digits_in_their_names(make: Build, tmp_path: Path) -> None:
    for number, name in enumerate(("10", "9", "²1", "٣")):
        for clip in range(4):
            write(tmp_path / f"set/move/{clip}/{name}.png", encoded(10 * clip + number, "PNG"))
    assert {clip_of(row)[0] for row in make(Clips(path="set")).every().values()} == {4}


@pytest.mark.skipif(sys.platform == "win32", reason="has shorter paths")
def test_folders_may_lie_within_each_other_as_deep_as_anybody_wants(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    with chdir(tmp_path / "set/cat"):
        for _ in range(300):
            os.mkdir("a")
            os.chdir("a")
    rejected = make(ImageFolders(path="set", max_rejected=ALL)).report["rejected"]
    [(name, reason)] = rejected.items()
    assert name == "cat" + "/a" * 200 and "200 folders" in reason


def test_a_long_clip_is_thinned_and_its_rate_with_it(make: Build, tmp_path: Path) -> None:
    for number in range(2):
        write_video(tmp_path / f"set/move/{number}.avi", frames=25, seed=number)
    built = make(Clips(path="set", max_frames=10, max_side=32))
    assert clip_of(built.every()["move/0.avi"]) == (9, pytest.approx(10 / 3), [24, 32])
    assert "every 3th of 25 frames taken" in built.findings.reasons[0]


def test_clips_in_a_table_with_sides_sources_and_several_labels(make: Build, tmp_path: Path) -> None:
    for number in range(4):
        write_video(tmp_path / f"set/{number}.avi", frames=3, seed=number)
    rows = ["0.avi,rain|night,train", "1.avi,night,train", "2.avi,rain,val", "3.avi,,train"]
    write(tmp_path / "set/labels.csv", "\n".join(["path,labels,split", *rows]))
    built = make(Clips(path="set", table="labels.csv", multi_label=True))
    assert built.manifest.multi_label and built.manifest.classes == ("night", "rain")
    assert label_of(built.every()["0.avi"]) == (["rain", "night"], [2, 1])
    assert label_of(built.every()["3.avi"]) == ([], [])
    assert built.names("validation") == ["2.avi"]


def test_mistakes_in_a_table_of_clips_are_reported(make: Build, tmp_path: Path) -> None:
    for number in range(4):
        write_video(tmp_path / f"set/{number}.avi", frames=3, seed=number)
    rows = [
        "0.avi,rain,train",
        "1.avi,,train",
        "2.avi,rain,sometimes",
        "3.avi,rain,val",
        "3.avi,rain,val",
        "4.avi,x,val",
    ]
    write(tmp_path / "set/labels.csv", "\n".join(["path,label,split", *rows]))
    with pytest.raises(DataError) as caught:
        make(Clips(path="set", table="labels.csv"))
    for parts in (
        ("1.avi: labels.csv:3: ", "label", "none"),
        ("2.avi: labels.csv:4: ", "split", "train, validation or test", "'sometimes'"),
        ("3.avi: labels.csv:6: ", "twice", "line 5"),
        ("4.avi: ", "no such file"),
        ("4 of 5 files", "(80.0%)", "data.max_rejected", "5.0%"),
    ):
        assert any(missing_in(line, *parts) == [] for line in str(caught.value).splitlines()), parts


def test_a_broken_video_is_refused(make: Build, tmp_path: Path) -> None:
    for number in range(2):
        write_video(tmp_path / f"set/move/{number}.mp4", frames=8, seed=number)
    whole = write_video(tmp_path / "set/move/cut.mp4", frames=8, seed=7).read_bytes()
    write(tmp_path / "set/move/cut.mp4", whole[: len(whole) // 2])
    write(tmp_path / "set/move/text.mp4", "hello")
    write(tmp_path / "set/move/empty.mp4", "")
    write(tmp_path / "set/move/list.mp4", "ffconcat version 1.0\nfile '0.mp4'\nfile 'list.mp4'\n")
    write(tmp_path / "set/move/playlist.mkv", "#EXTM3U\n#EXTINF:1,\n0.mp4\n#EXT-X-ENDLIST\n")
    rejected = make(Clips(path="set", max_rejected=ALL)).report["rejected"]
    assert sorted(rejected) == [
        f"move/{name}" for name in ("cut.mp4", "empty.mp4", "list.mp4", "playlist.mkv", "text.mp4")
    ]
    assert all(reason.startswith("broken video: ") for reason in rejected.values())


# TFRecords of others.


def test_records_of_the_object_detection_api(make: Build, tmp_path: Path) -> None:
    write_records(tmp_path / "set/train.record-00000-of-00001", [scene(1, [2, 1], ["dog", "cat"]), scene(2, [], [])])
    write_records(tmp_path / "set/val.record-00000-of-00001", [scene(3, [2], None)])
    write(tmp_path / "set/map.pbtxt", "item { id: 1 name: 'cat' } item { id: 2 name: 'dog' }")
    settings = dict(train="train.record-*", validation="val.record-*", labels="map.pbtxt")
    built = make(TfRecords(path="set", layout="object_detection", **settings))  # type: ignore[arg-type]
    rows = built.rows("train")
    assert boxes_of(rows["train.record-00000-of-00001/000000"]) == [("dog", 2, 8, 6, 24, 12), ("cat", 1, 8, 6, 24, 12)]
    assert boxes_of(rows["train.record-00000-of-00001/000001"]) == []
    [row] = built.rows("validation").values()
    assert boxes_of(row) == [("dog", 2, 8, 6, 24, 12)]


def test_the_ids_of_ftc_ml_count_from_0_and_come_out_from_1(make: Build, tmp_path: Path) -> None:
    write_records(
        tmp_path / "set/train_dataset.record-00000-00001", [scene(1, [0, 1], ["cat", "dog"]), scene(2, [1], None)]
    )
    write_records(tmp_path / "set/eval_dataset.record-00000-00001", [scene(3, [0], None)])
    write(tmp_path / "set/label.pbtxt", "item { id: 1 name: 'cat' } item { id: 2 name: 'dog' }")
    settings = dict(train="train_dataset*", validation="eval_dataset*", labels="label.pbtxt")
    built = make(TfRecords(path="set", layout="ftc_ml", **settings))  # type: ignore[arg-type]
    labels = [[box[:2] for box in boxes_of(row)] for row in built.rows("train").values()]
    assert sorted(labels) == [[("cat", 1), ("dog", 2)], [("dog", 2)]]
    assert [box[:2] for row in built.rows("validation").values() for box in boxes_of(row)] == [("cat", 1)]


def test_records_of_inception(make: Build, tmp_path: Path) -> None:
    for side, seeds in (("train", (1, 2)), ("validation", (3,))):
        rows = [
            {
                "image/encoded": encode_blobs([encoded(seed)]),
                "image/class/label": encode_integers([2]),
                "image/class/text": encode_texts(["tulip"]),
            }
            for seed in seeds
        ]
        write_records(tmp_path / f"set/{side}-00000-of-00001", rows)
    write(tmp_path / "set/labels.txt", "daisy\ntulip\n")
    built = make(TfRecords(path="set", layout="inception", labels="labels.txt"))
    assert [label_of(row) for row in built.every().values()] == [(["tulip"], [2])] * 3


def test_raw_clips_of_s3dg(make: Build, tmp_path: Path) -> None:
    for side, flags in (("train", b"\1\0\1"), ("validation", b"\0\1\0")):
        frames = np.stack([pixels(seed + len(side), 32, 24) for seed in range(4)])
        write_records(
            tmp_path / f"set/{side}.tfrecord",
            [{"feature": encode_blobs([frames.tobytes()]), "label": encode_blobs([flags])}],
        )
    write(tmp_path / "set/labels.txt", "gate\ntrain\ncar\n")
    built = make(TfRecords(path="set", layout="s3dg", labels="labels.txt", width=32, height=24, frames_per_second=25))
    [row] = built.rows("train").values()
    assert clip_of(row) == (4, 25.0, [24, 32])
    assert label_of(row) == (["gate", "car"], [1, 3])
    assert np.abs(decode(row["clip/frames"][2]) - pixels(2 + len("train"))).mean() < 6


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (scene(5, [3], None), "image/object/class/label 3 .*1 to 2"),
        (scene(5, [0], None), "image/object/class/label 0 .*1 to 2"),
        (scene(5, [1, 2], ["cat", "dog"], count=1), "2 classes .*1 xmin, 1 ymin, 1 xmax, 1 ymax"),
        (scene(5, [1, 2], ["cat"]), "1 image/object/class/text .*2 image/object/class/label"),
        ({"feature": encode_blobs([b"x"])}, r"one image/encoded.*\b0\b.*\bfeature \(data\.layout\)"),
    ],
)
def test_a_record_that_does_not_fit_is_reported(row: dict, message: str, make: Build, tmp_path: Path) -> None:
    write_records(tmp_path / "set/train", [scene(1, [2, 1], ["dog", "cat"]), row])
    write_records(tmp_path / "set/validation", [scene(3, [2], ["dog"])])
    write(tmp_path / "set/map.pbtxt", "item { id: 1 name: 'cat' } item { id: 2 name: 'dog' }")
    settings = TfRecords(path="set", layout="object_detection", labels="map.pbtxt", max_rejected=0)
    with pytest.raises(DataError, match=message):
        make(settings)


def test_a_damaged_record_file_is_reported_and_what_is_before_the_damage_is_kept(make: Build, tmp_path: Path) -> None:
    write_records(tmp_path / "set/train", [scene(seed, [1], ["cat"]) for seed in range(3)])
    write_records(tmp_path / "set/validation", [scene(9, [1], ["cat"])])
    whole = (tmp_path / "set/train").read_bytes()
    (tmp_path / "set/train").write_bytes(whole[:-30])
    built = make(TfRecords(path="set", layout="object_detection", max_rejected=ALL))
    assert built.names("train") == ["train/000000", "train/000001"]
    assert missing_in(built.findings.reasons[0], "ends inside", f"{len(whole) - 30}") == []


def test_split_by_lists(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 6})
    write(tmp_path / "set/train.txt", "000\n001.jpg\ncat/002.jpg\n")
    write(tmp_path / "set/val.txt", "003\n004 1\nnowhere\n")
    built = make(ImageFolders(path="set", split=SplitSettings(train_list="train.txt", validation_list="val.txt")))
    assert built.names("train") == [f"cat/00{n}.jpg" for n in (0, 1, 2)]
    assert built.names("validation") == [f"cat/00{n}.jpg" for n in (3, 4)]
    assert built.findings.counts["left out"] == 1
    assert any(missing_in(line, "1 names", "lists", "nowhere") == [] for line in built.findings.warnings)


def test_a_second_image_of_one_name_is_told_of(make: Build, tmp_path: Path) -> None:
    write_voc(tmp_path / "voc")
    first = sorted((tmp_path / "voc/images").iterdir())[0]
    write(first.with_suffix(".png"), encoded(41, "PNG"))
    built = make(PascalVoc(path="voc"), out="voc_records")
    both = {f"images/{first.name}", f"images/{first.with_suffix('.png').name}"}
    [(name, reason)] = ((name, text) for name, text in built.report["ignored"].items() if name in both)
    assert missing_in(reason, f"annotations/{first.stem}.xml") == [] and name not in built.every()
    assert len(both & {*built.every()}) == 1
    for number in range(4):
        write(tmp_path / f"yolo/images/{number}.jpg", encoded(number))
        write(tmp_path / f"yolo/labels/{number}.txt", "0 0.5 0.5 0.2 0.2\n")
    write(tmp_path / "yolo/classes.txt", "cat\n")
    write(tmp_path / "yolo/images/2.webp", encoded(42, "WEBP"))
    changed = make(Yolo(path="yolo"), out="yolo_records").report["changed"]
    assert missing_in(str(changed["images/2.webp"]), "labels/2.txt", "images/2.jpg") == []
    assert "images/2.jpg" not in changed
