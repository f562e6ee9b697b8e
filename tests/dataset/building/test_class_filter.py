"""`data.classes`: some of a dataset's classes; `data.validation_path`: a folder for each side."""

import json
from pathlib import Path

import pytest

from bakeoff.config.compose.data_source import choose_source
from bakeoff.dataset.records.record import Record, encode_record, number_classes
from bakeoff.dataset.records.shards import ShardWriter
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset, SplitSettings
from bakeoff.dataset.sources.tfrecords import TfRecords
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.foundation.errors import ConfigError, DataError, OutOfRange
from support.built import Build, Row
from support.drawing import encoded, voc, write, write_images, write_video
from support.imports import ROOT


def write_scenes(root: Path, scenes: list[list[str]], first_seed: int = 0) -> None:
    """An image with a box of each label."""
    for number, labels in enumerate(scenes):
        boxes = [(label, 2.0 + 4 * place, 2.0, 9.0 + 4 * place, 9.0) for place, label in enumerate(labels)]
        write(root / f"images/{number}.jpg", encoded(first_seed + number))
        write(root / f"annotations/{number}.xml", voc(boxes))


def labels_of(row: Row) -> list[str]:
    return [text.decode() for text in row.get("image/object/class/text", [])]


def test_boxes_of_other_classes_are_left_out_and_their_images_stay(make: Build, tmp_path: Path) -> None:
    scenes = [["cat", "dog"], ["dog"], ["bird", "cat"], ["dog", "bird"], ["cat"], ["cat"]]
    write_scenes(tmp_path / "set", scenes)
    built = make(PascalVoc(path="set", classes=("dog", "bird")))
    labels = {Path(name).stem: labels_of(row) for name, row in built.every().items()}
    assert labels == {str(place): [one for one in labels if one != "cat"] for place, labels in enumerate(scenes)}
    assert built.manifest.classes == ("dog", "bird")  # the order that is asked for
    ids = {
        text: number
        for row in built.every().values()
        for text, number in zip(labels_of(row), row.get("image/object/class/label", []), strict=True)
    }
    assert ids == {"dog": 1, "bird": 2}
    report = (built.folder / "report.html").read_text(encoding="utf-8")
    assert "1 of other classes left out (data.classes)" in report


def test_a_scene_of_coco_keeps_what_counts(make: Build, tmp_path: Path) -> None:
    images = [{"id": number, "file_name": f"{number}.jpg", "width": 32, "height": 24} for number in range(4)]
    boxes = [
        {"id": number, "image_id": number // 2, "category_id": 5 + number % 2, "bbox": [2 + number, 2, 8, 9]}
        for number in range(8)
    ]
    categories = [{"id": 5, "name": "cat"}, {"id": 6, "name": "dog"}]
    for image in images:
        write(tmp_path / "set" / str(image["file_name"]), encoded(int(str(image["id"]))))
    tree = {"images": images, "annotations": boxes, "categories": categories}
    write(tmp_path / "set/a.json", json.dumps(tree))
    built = make(Coco(path="set", annotations="a.json", classes=("dog",)))
    assert [labels_of(row) for row in built.every().values()] == [["dog"]] * 4 and built.manifest.classes == ("dog",)


def test_images_of_other_classes_are_no_examples_and_count_as_no_mistake(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"ape": 6, "bee": 6, "cow": 6})
    built = make(ImageFolders(path="set", classes=("cow", "ape"), max_rejected=0.0))
    assert built.manifest.classes == ("cow", "ape")
    assert len(built.every()) == 12 and not any("bee" in name for name in built.every())
    assert built.findings.counts["ignored"] == 6 and not built.findings.counts.get("rejected")


def test_a_clip_with_several_labels_keeps_those_that_count_and_stays_without_any(make: Build, tmp_path: Path) -> None:
    rows = ["rain|night", "rain", "night", "fog|rain", "", "fog"]
    for number in range(len(rows)):
        write_video(tmp_path / f"set/{number}.mp4", frames=2, seed=number)
    table = "path,labels\n" + "".join(f"{number}.mp4,{labels}\n" for number, labels in enumerate(rows))
    write(tmp_path / "set/labels.csv", table)
    built = make(Clips(path="set", table="labels.csv", multi_label=True, classes=("night", "rain")))
    labels = {
        Path(name).stem: [text.decode() for text in row["image/class/text"]] for name, row in built.every().items()
    }
    assert labels == {"0": ["rain", "night"], "1": ["rain"], "2": ["night"], "3": ["rain"], "4": [], "5": []}
    single = make(Clips(path="set", table="labels.csv", classes=("rain", "night"), max_rejected=0.9), out="single")
    assert sorted(Path(name).stem for name in single.every()) == ["1", "2"]


def test_examples_of_tfrecords_are_chosen_by_what_is_in_them(make: Build, tmp_path: Path) -> None:
    labels = ["ape", "bee", "cow"]
    (tmp_path / "set").mkdir()
    with ShardWriter(tmp_path / "set", "train-00000-of-00001") as shard:
        for number in range(12):
            record = Record(f"{number}", (encoded(number),), 24, 32, (), (labels[number % 3],))
            shard.write(encode_record(record, number_classes(labels)))
    kept = TfRecords(path="set", layout="inception", validation=None, classes=("bee", "cow"))
    built = make(kept)
    assert built.manifest.classes == ("bee", "cow") and len(built.every()) == 8
    with pytest.raises(DataError, match=r"^data\.classes: set .*no class 'wasp'.*\bbee$"):
        make(TfRecords(path="set", layout="inception", validation=None, classes=("bee", "wasp")))


def test_a_class_that_the_dataset_lacks_is_refused_with_the_nearest(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"daisy": 4, "tulip": 4})
    write_scenes(tmp_path / "boxes", [["cat"], ["dog"]])
    write(tmp_path / "set/labels.txt", "daisy\ntulip\nrose\n")
    with pytest.raises(DataError, match=r"^data\.classes: set .*no class 'tulipp'.*'tulip'.*\bdaisy, tulip$"):
        make(ImageFolders(path="set", classes=("tulipp",)))
    with pytest.raises(DataError, match=r"^data\.classes: boxes .*no class 'cow'.*\bcat, dog$"):
        make(PascalVoc(path="boxes", classes=("cat", "cow")))
    with pytest.raises(DataError, match=r"no class 'lily'.*\bdaisy, rose, tulip$"):
        make(ImageFolders(path="set", labels="labels.txt", classes=("lily",)))
    assert not (tmp_path / "records").exists()
    with pytest.raises(OutOfRange, match=r"^classes: must be different classes, got \['a', 'a'\]$"):
        ImageFolders(path="set", classes=("a", "a"))


# A folder for each side.


def test_two_folders_that_have_nothing_in_common_are_the_two_sides(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "here/photos", {"ape": 3, "bee": 4})
    write_images(tmp_path / "there", {"ape": 2, "bee": 1, "cow": 2}, first_seed=50)
    built = make(ImageFolders(path="here/photos", validation_path="there"))
    assert [name.split("/")[:2] for name in built.names("train")] == [["train", "ape"]] * 3 + [["train", "bee"]] * 4
    assert len(built.names("validation")) == 5 and built.manifest.classes == ("ape", "bee", "cow")
    assert built.findings.split == ("split: here/photos for training", "split: there for validation")
    assert any("without a train example: 'cow'" in warning for warning in built.findings.warnings)


def test_a_third_folder_is_the_test_and_alone_leaves_the_rest_to_the_split(make: Build, tmp_path: Path) -> None:
    write_scenes(tmp_path / "a", [["cat", "dog"]] * 10)
    write_scenes(tmp_path / "b", [["cat", "dog"]] * 3, first_seed=20)
    write_scenes(tmp_path / "c", [["cat"]] * 2, first_seed=30)
    built = make(PascalVoc(path="a", validation_path="b", test_path="c"))
    assert [len(built.names(side)) for side in ("train", "validation", "test")] == [10, 3, 2]
    drawn = make(PascalVoc(path="a", test_path="c", split=SplitSettings(validation=0.3)), out="drawn")
    assert [len(drawn.names(side)) for side in ("train", "validation", "test")] == [7, 3, 2]


def test_the_labels_file_of_the_first_folder_holds_for_all(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a", {"ape": 2, "bee": 2})
    write_images(tmp_path / "b", {"bee": 1}, first_seed=9)
    write(tmp_path / "a/map.pb", "item { id: 1 name: 'bee' } item { id: 2 name: 'ape' }")
    built = make(ImageFolders(path="a", validation_path="b", labels="map.pb"))
    assert built.manifest.classes == ("bee", "ape")
    write_images(tmp_path / "b", {"cow": 1}, first_seed=19)
    with pytest.raises(DataError, match=r"a/map\.pb: .*\b1\b.*'cow'"):
        make(ImageFolders(path="a", validation_path="b", labels="map.pb"))


def test_an_image_that_is_in_both_folders_stays_on_one_side(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a", {"ape": 3})
    write_images(tmp_path / "b", {"ape": 3}, first_seed=2)  # its first is the other's last
    built = make(ImageFolders(path="a", validation_path="b"))
    assert len(built.names("train")) + len(built.names("validation")) == 5


def test_a_folder_that_names_sides_itself_is_refused(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a/train", {"ape": 2})
    write_images(tmp_path / "a/validation", {"ape": 2}, first_seed=5)
    write_images(tmp_path / "b", {"ape": 2}, first_seed=9)
    sides = r"^a: .*\btrain/validation/ape/\S+ .*validation.*\btrain \(data\.validation_path, data\.test_path\)"
    with pytest.raises(DataError, match=sides):
        make(ImageFolders(path="a", validation_path="b"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation_path": "a"}, r"^validation_path: .*another folder.*null.*'a'$"),
        ({"validation_path": "b", "test_path": "b"}, r"^test_path: .*another folder.*null.*'b'$"),
        ({"test_path": " "}, r"^test_path: .*another folder.*null.*' '$"),
        (
            {"validation_path": "b", "split": SplitSettings(by="fraction")},
            r"^validation_path: .*null.*data\.split .*'b'$",
        ),
        ({"test_path": "b", "split": SplitSettings(test=0.1)}, r"^test_path: .*null.*data\.split .*'b'$"),
    ],
)
def test_folders_that_contradict_the_split_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(OutOfRange, match=message):
        ImageFolders(path="a", **settings)


def chosen(tmp_path: Path, data: str, **options: str) -> list[Dataset]:
    """What params.yaml chooses, with options of its own."""
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "params.yaml").write_text(f"experiment: demo\ndata: {data}\nseed: 0\n", encoding="utf-8")
    source = choose_source(tmp_path / "params.yaml", tmp_path / "conf").source
    return [part.dataset for part in source] if isinstance(source, list) else [source]


def test_params_yaml_names_both_folders_which_dvc_must_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both = "{use: image_folders, path: data/raw/a, validation_path: data/raw/b, classes: [ape]}"
    assert [one.path for one in chosen(tmp_path, both)] == ["data/raw/a", "data/raw/b"]
    (tmp_path / "conf").unlink()
    with pytest.raises(ConfigError, match=r"params\.yaml:2: data\.validation_path: .*data/raw/.*DVC.*'elsewhere/b'"):
        chosen(tmp_path, "{use: image_folders, path: data/raw/a, validation_path: elsewhere/b}")


def test_a_merge_chooses_classes_of_each_of_its_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sources = chosen(tmp_path, "{use: merged, merge: [image_folders, clips], classes: [ape]}")
    assert [one.classes for one in sources] == [("ape",)] * 2
