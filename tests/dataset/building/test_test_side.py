"""A third split, for the end: where it comes from, and that it changes nothing for the other two."""

import json
from pathlib import Path

import pytest

from bakeoff.config.compose.data_source import digest_settings
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.sources import SOURCES
from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import SplitSettings
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.errors import DataError
from bakeoff.learning.run_file.settings import settings_tree
from support.built import Build, Built
from support.drawing import encoded, write, write_images
from support.messages import missing_in

ALL = ("train", "validation", "test")


def counts(built: Built) -> dict[str, int]:
    return {name: split.examples for name, split in built.manifest.splits.items()}


def test_other_test_data_leave_the_digest_of_training_and_selection(make: Build, tmp_path: Path) -> None:
    for seed, side in enumerate(("train", "validation")):
        write_images(tmp_path / "set" / side, {"cat": 3, "dog": 2}, first_seed=100 * seed)
    without = make(ImageFolders(path="set"), out="without")
    write_images(tmp_path / "set/test", {"cat": 4}, first_seed=900)
    built = make(ImageFolders(path="set"), out="with")
    assert counts(built) == {"train": 5, "validation": 5, "test": 4}
    assert built.manifest.digest == without.manifest.digest
    tree = json.loads((tmp_path / "with/manifest.json").read_text())
    assert tree["digest"] == json.loads((tmp_path / "without/manifest.json").read_text())["digest"]
    assert tree["test_digest"] == built.manifest.digest_of("test")
    for name in ("train-00000-of-00001", "validation-00000-of-00001"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
    write(tmp_path / "set/test/cat/more.jpg", encoded(999))
    other = make(ImageFolders(path="set"), out="other")
    assert other.manifest.digest == built.manifest.digest
    assert other.manifest.digest_of("test") != built.manifest.digest_of("test")


def test_a_test_digest_that_does_not_fit_is_noticed(make: Build, tmp_path: Path) -> None:
    for seed, side in enumerate(ALL):
        write_images(tmp_path / "set" / side, {"cat": 2}, first_seed=100 * seed)
    path = make(ImageFolders(path="set")).folder / "manifest.json"
    path.write_text(path.read_text().replace('"test_digest": "', '"test_digest": "0'))
    with pytest.raises(DataError, match=r"manifest\.json: its digest"):
        read_manifest(path.parent)


def test_settings_of_no_test_change_no_digest_of_settings() -> None:
    tree = settings_tree(ImageFolders(path="data/raw/set"), SOURCES)
    assert tree["split"]["test"] == 0.0 and tree["split"]["test_list"] is None and tree["shards"]["test"] is None
    before = json.loads(json.dumps(tree))
    for group, keys in (("split", ("test", "test_list")), ("shards", ("test",))):
        for key in keys:
            del before[group][key]
    assert digest_settings([tree]) == digest_settings([before])
    assert digest_settings(
        [settings_tree(ImageFolders(path="data/raw/set", split=SplitSettings(test=0.1)), SOURCES)]
    ) != digest_settings([tree])


def test_a_fraction_takes_the_test_from_training_alone(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 40, "dog": 20, "one": 1, "two": 2})
    without = make(ImageFolders(path="set", split=SplitSettings(by="fraction")), out="without")
    built = make(ImageFolders(path="set", split=SplitSettings(by="fraction", test=0.1)), out="with")
    assert built.names("validation") == without.names("validation")
    assert sorted(built.names("train") + built.names("test")) == without.names("train")
    assert built.manifest.splits["test"].counts == {"cat": 4, "dog": 2, "one": 0, "two": 0}
    assert built.manifest.splits["train"].counts["one"] == built.manifest.splits["train"].counts["two"] == 1
    [rule] = built.findings.split
    assert missing_in(rule, "split: 20%", "class", "validation", "10%", "test", "seed 0") == []


def test_groups_are_parted_by_no_split(make: Build, tmp_path: Path) -> None:
    for number in range(60):
        write(
            tmp_path / f"set/{'cat' if number % 2 else 'dog'}/film{number // 4:02d}_{number:03d}.jpg", encoded(number)
        )
    rule = SplitSettings(by="fraction", validation=0.3, test=0.2, group=r"(film\d+)_")
    built = make(ImageFolders(path="set", split=rule))
    films = [{name.split("/")[1].split("_")[0] for name in built.names(split)} for split in ALL]
    assert all(films) and sum(map(len, films)) == len(set().union(*films)) == 15


def test_blocks_take_the_end_for_the_test_and_gaps_before_it(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 20})
    built = make(ImageFolders(path="set", split=SplitSettings(by="blocks", validation=0.2, test=0.1, gap=2)))
    numbers = {split: [int(Path(name).stem) for name in built.names(split)] for split in ALL}
    assert numbers == {"train": list(range(10)), "validation": [12, 13, 14, 15], "test": [18, 19]}
    assert built.findings.counts["left out"] == 4
    [rule] = built.findings.split
    assert missing_in(rule, "the last 10%", "group", "test", "20%", "validation", "gap of 2") == []


def test_three_lists(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 6})
    write(tmp_path / "set/val.txt", "001\n")
    write(tmp_path / "set/test.txt", "002\n003\n")
    built = make(ImageFolders(path="set", split=SplitSettings(validation_list="val.txt", test_list="test.txt")))
    assert counts(built) == {"train": 3, "validation": 1, "test": 2}
    assert built.findings.split == ("split: by val.txt and test.txt",)
    write(tmp_path / "set/test.txt", "001\n")
    with pytest.raises(DataError, match=r"test\.txt: 001 is in two lists"):
        make(ImageFolders(path="set", split=SplitSettings(validation_list="val.txt", test_list="test.txt")))
    write(tmp_path / "set/test.txt", "")
    with pytest.raises(DataError, match=r"set: no example .*\btest;.*data\.split\.test "):
        make(ImageFolders(path="set", split=SplitSettings(validation_list="val.txt", test_list="test.txt")))


def test_a_given_test_is_kept_and_validation_is_drawn_from_the_rest(make: Build, tmp_path: Path) -> None:
    for seed, side in enumerate(("train", "test")):
        write_images(tmp_path / "set" / side, {"cat": 10, "dog": 10}, first_seed=100 * seed)
    write(tmp_path / "set/train/cat/copy.jpg", (tmp_path / "set/test/cat/000.jpg").read_bytes())
    stand_in = make(ImageFolders(path="set"), out="stand_in")
    assert counts(stand_in) == {"train": 20, "validation": 20}
    assert any(missing_in(line, "test is the validation", "weights") == [] for line in stand_in.findings.warnings)
    built = make(ImageFolders(path="set", split=SplitSettings(by="given_test", validation=0.25)))
    assert built.names("test") == stand_in.names("validation")
    assert counts(built) == {"train": 16, "validation": 4, "test": 20}
    facts = ("left out: train/cat/copy.jpg", "bytes", "test", "group")
    assert any(missing_in(line, *facts) == [] for line in built.findings.reasons)
    [rule] = built.findings.split
    assert missing_in(rule, "split: the test by", "folders", "25%", "class") == []


def test_copies_between_a_given_test_and_training_are_named_and_stay(make: Build, tmp_path: Path) -> None:
    for seed, side in enumerate(ALL):
        write_images(tmp_path / "set" / side, {"cat": 3}, first_seed=100 * seed)
    write(tmp_path / "set/test/cat/copy.jpg", (tmp_path / "set/train/cat/000.jpg").read_bytes())
    built = make(ImageFolders(path="set"))
    assert counts(built) == {"train": 3, "validation": 3, "test": 4}
    facts = ("1 examples of the test", "bytes", "test/cat/copy.jpg", "train/cat/000.jpg")
    assert any(missing_in(line, *facts) == [] for line in built.findings.warnings)


def test_a_csv_for_each_of_three_sides_with_images_of_the_same_names(make: Build, tmp_path: Path) -> None:
    head = "filename,width,height,class,xmin,ymin,xmax,ymax\n"
    for number, side in enumerate(("train", "val", "test")):
        write(tmp_path / f"set/images/{side}/1.jpg", encoded(number))
        write(tmp_path / f"set/{side}.csv", f"{head}1.jpg,32,24,cat,1,1,{number + 5},5\n")
    files = {"annotations": "train.csv", "validation_annotations": "val.csv", "test_annotations": "test.csv"}
    built = make(BoxCsv(path="set", **files))  # type: ignore[arg-type]
    assert [built.names(split) for split in ALL] == [[f"images/{side}/1.jpg"] for side in ("train", "val", "test")]
    assert built.findings.split == ("split: by train.csv, val.csv and test.csv",)
    with pytest.raises(DataError, match=r"set/no\.csv: no such file .*\(data\.test_annotations\)"):
        make(BoxCsv(path="set", **(files | {"test_annotations": "no.csv"})))  # type: ignore[arg-type]


def test_a_coco_file_for_each_of_three_sides(make: Build, tmp_path: Path) -> None:
    for number, side in enumerate(("train", "val", "test")):
        write(tmp_path / f"set/{side}/{side}.jpg", encoded(number))
        box = {"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5]}
        tree = {"images": [{"id": 1, "file_name": f"{side}.jpg"}], "annotations": [box]}
        write(tmp_path / f"set/{side}.json", json.dumps(tree | {"categories": [{"id": 1, "name": "a"}]}))
    files = {"annotations": "train.json", "validation_annotations": "val.json", "test_annotations": "test.json"}
    built = make(Coco(path="set", **files))  # type: ignore[arg-type]
    assert counts(built) == {"train": 1, "validation": 1, "test": 1}
    write(tmp_path / "set/test.json", (tmp_path / "set/test.json").read_text().replace('"a"', '"b"'))
    with pytest.raises(DataError, match=r"set/test\.json: its categories \['b'\] are not train\.json's \['a'\]"):
        make(Coco(path="set", **files))  # type: ignore[arg-type]


@pytest.mark.parametrize("names_validation", [True, False])
def test_the_test_of_data_yaml(names_validation: bool, make: Build, tmp_path: Path) -> None:
    for number in range(12):
        side = ("train", "val", "test")[number % 3]
        write(tmp_path / f"set/{side}/images/{number}.jpg", encoded(number))
        write(tmp_path / f"set/{side}/labels/{number}.txt", "0 0.5 0.5 0.4 0.4\n")
    val = "val: ../val/images\n" if names_validation else ""
    write(tmp_path / "set/data.yaml", f"names: [cat]\ntrain: ../train/images\n{val}test: ../test/images\n")
    rule = SplitSettings() if names_validation else SplitSettings(by="given_test", validation=0.25)
    built = make(Yolo(path="set", split=rule))
    assert built.names("test") == [f"test/images/{number}.jpg" for number in (11, 2, 5, 8)]
    assert counts(built)["train"] + counts(built)["validation"] == 8


def test_all_of_a_set_for_the_test_cannot_be_trained_on(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 3})
    with pytest.raises(DataError, match=r"set: no example .*\btrain;.*data\.split\.by: test .*`bakeoff evaluate"):
        make(ImageFolders(path="set", split=SplitSettings(by="test")))
