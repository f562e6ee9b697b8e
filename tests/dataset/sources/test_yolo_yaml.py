"""YOLO's data.yaml: names as they stand there, and the sides that it names."""

from pathlib import Path

import pytest

from bakeoff.dataset.sources.dataset import SplitSettings
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.dataset.sources.yolo_yaml import read_names
from bakeoff.foundation.errors import DataError
from support.built import Build
from support.drawing import encoded, write
from support.messages import missing_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: [yes, no]", ["yes", "no"]),
        ("names: [1:30, 010, 1e3, 0x1F, .5]", ["1:30", "010", "1e3", "0x1F", ".5"]),
        ("names: [2020-01-01, true, 'null', \"~\"]", ["2020-01-01", "true", "null", "~"]),
        ("names:\n  1: dog\n  0: cat\n", ["cat", "dog"]),
        ("\ufeffnames: [cat]\r\nnc: 1\r\n", ["cat"]),
        ("more: &m [cat, dog]\nnames: *m\n", ["cat", "dog"]),
        ("download: !!python/object/apply:os.system ['exit 1']\nnames: [cat]", ["cat"]),
    ],
)
def test_names_are_the_texts_that_stand_there(text: str, names: list[str], tmp_path: Path) -> None:
    write(tmp_path / "data.yaml", text)
    assert read_names(tmp_path, "data.yaml") == names


LAUGHS = "a: &a [lol, lol]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
    for old, new in zip("abcdefghijkl", "bcdefghijklm", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("names: [cat, null]", "line 1: class 1 has no name"),
        ("names:\n- cat\n- \n", "line 3: class 1 has no name"),
        ("names: [cat, cat]", ".*'cat' twice"),
        ("names: [cat, '']", "class 2, '', is empty; rename it"),
        ('names: ["a\\nb", c]', r"class 1, 'a\\nb', has a line break"),
        (f"names: [{'a' * 5000}]", r"class 1\b.*'a+...a+'.*\b200\b"),
        ("names: {0: cat, x: dog}", r"names must list.*\bline 1\b"),
        ("names: {0: cat, 2: dog}", "names must list the classes"),
        ("names: {0: cat, 0: dog}", "names must list the classes"),
        ("names: {0: cat, [1, 2]: dog}", "names must list the classes"),
        ("names: cat", "names must list the classes"),
        ("names: [[cat]]", "line 1: class 0 has no name"),
        ("nc: 2", "names must list.*nothing"),
        ("- names", "names must list the classes"),
        ("", "names must list the classes"),
        ("names: [a]\nnames: [b]", "not valid YAML: line 2: .*'names' .*twice"),
        ("names: [a", "not valid YAML: line 1: .*',' or ']'"),
        ("names: [a]\n---\nnames: [b]", "not valid YAML: line 2"),
        ("names: [a\0]", "not valid YAML: unacceptable character #x0000"),
        ("names: *nowhere", "not valid YAML: line 1: .*undefined alias"),
        ("names: " + "[" * 5000, "not valid YAML: nested"),
        (f"{LAUGHS}names: *m", "line 12: class 0 has no name"),
        ("# " + "x" * 300_000, r".*\b0\.3 MB.*\b0\.1 MB"),
        (b"names: [caf\xe9]", r".*UTF-8.*\b11\b"),
    ],
)
def test_names_that_cannot_be_classes_are_refused_with_file_and_place(
    text: str | bytes, message: str, tmp_path: Path
) -> None:
    write(tmp_path / "data.yaml", text)
    with pytest.raises(DataError, match=rf"data\.yaml: {message}.* \(the class names\)$"):
        read_names(tmp_path, "data.yaml")


def write_set(root: Path, names: list[str]) -> None:
    for number, name in enumerate(names):
        write(root / f"images/{name}.jpg", encoded(number))
        write(root / f"labels/{name}.txt", "0 0.5 0.5 0.5 0.5\n")


A_B_C = ["a/1", "a/2", "a/3", "b/1", "c/1"]


@pytest.mark.parametrize(
    "text",
    [
        "train: images/a\nval: images/b\n",
        "path: ../datasets/mine\ntrain: images/a/\nval: ./images/b\ntest:\n",
        "train: ../mine/images/a\nval: ..\\mine\\images\\b\n",
        "train: /home/me/mine/images/a\nval: [images/b]\ntest: images/c\n",
        "train: images/a.txt\nval: images/b.txt\n",
        "train: images/a\ntest: images/b\n",
    ],
)
def test_the_sides_that_data_yaml_names_are_the_sides(text: str, make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", A_B_C)
    write(tmp_path / "set/data.yaml", f"names: [cat]\n{text}")
    write(tmp_path / "set/images/a.txt", "./a/1.jpg\n./a/2.jpg\n/somewhere/else/images/a/3.jpg\n")
    write(tmp_path / "set/images/b.txt", "images/b/1.jpg\n")
    built = make(Yolo(path="set"))
    assert built.names("train") == ["images/a/1.jpg", "images/a/2.jpg", "images/a/3.jpg"]
    assert built.names("validation") == ["images/b/1.jpg"]
    [rule] = built.findings.split
    assert missing_in(rule, "split: by data.yaml", "train and val") == []
    report = built.report
    if "test: images/c" in text:
        assert built.names("test") == ["images/c/1.jpg"]
    else:
        assert "images/c/1.jpg" in report["ignored"]


def test_a_list_inside_a_folder_of_the_other_side_is_kept_for_validation(make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", ["1", "2", "3", "held/4"])
    write(tmp_path / "set/data.yaml", "names: [cat]\ntrain: images\nval: images/held\n")
    built = make(Yolo(path="set"))
    assert (built.names("train"), built.names("validation")) == (
        ["images/1.jpg", "images/2.jpg", "images/3.jpg"],
        ["images/held/4.jpg"],
    )


@pytest.mark.parametrize("text", ["", "train: images\nval: images\n", "train: images\n", "train:\nval:\n"])
def test_data_yaml_that_parts_nothing_leaves_it_to_a_fraction(text: str, make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", A_B_C)
    write(tmp_path / "set/data.yaml", f"names: [cat]\n{text}")
    built = make(Yolo(path="set"))
    assert (len(built.names("train")), len(built.names("validation"))) == (4, 1)
    assert missing_in(built.findings.split[0], "split: 20%", "class", "seed 0", "names no split") == []


def test_a_fraction_that_is_asked_for_passes_over_data_yaml(make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", A_B_C)
    write(tmp_path / "set/data.yaml", "names: [cat]\ntrain: images/a\nval: images/b\n")
    built = make(Yolo(path="set", split=SplitSettings(by="fraction", validation=0.4)))
    assert (len(built.names("train")), len(built.names("validation"))) == (3, 2)


def test_a_side_that_is_not_there_is_an_error_unless_folders_name_it(make: Build, tmp_path: Path) -> None:
    text = "names: [cat]\ntrain: images/a\nval: images/gone\n"
    write_set(tmp_path / "set", A_B_C)
    write(tmp_path / "set/data.yaml", text)
    with pytest.raises(DataError, match=r"data\.yaml:3: val .*'images/gone'.*no folder"):
        make(Yolo(path="set"))
    write_set(tmp_path / "other", ["train2017/1", "train2017/2", "val2017/3"])
    write(tmp_path / "other/data.yaml", text)
    assert make(Yolo(path="other"), out="by folders").names("validation") == ["images/val2017/3.jpg"]


def test_a_line_of_a_list_that_leads_nowhere_is_reported(make: Build, tmp_path: Path) -> None:
    write_set(tmp_path / "set", A_B_C)
    write(tmp_path / "set/data.yaml", "names: [cat]\ntrain: train.txt\nval: images/b\n")
    write(tmp_path / "set/train.txt", "images/a/1.jpg\nimages/a/gone.jpg\n")
    report = make(Yolo(path="set", max_rejected=0.5)).report
    [(place, reason)] = report["rejected"].items()
    assert place == "train.txt:2" and missing_in(reason, "'images/a/gone.jpg'", "no file") == []
    assert sorted(report["ignored"]) == ["images/a/2.jpg", "images/a/3.jpg", "images/c/1.jpg"]
