"""Proposed labels are read back as they were found, and no label that is there is touched."""

import csv
import json
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import pytest

from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.detect_format import count, survey_folder
from bakeoff.importing.datasets.pre_annotate import ImageProposals, LabelFolder, PixelBox, propose
from support.drawing import write
from support.exporters import HEIGHT, WIDTH, boxes_of, picture, voc_xml, yolo_text
from support.messages import missing_in

LABELS = ("cube", "ball")
FORMATS = {"voc": PascalVoc(path="x"), "yolo": Yolo(path="x"), "coco": Coco(path="x", annotations="proposals.json")}


def find_objects(image: Path) -> ImageProposals:
    """Find what the exporters drew; nothing in picture 3, and picture 4 cannot be read."""
    number = int(image.stem)
    if number == 4:
        raise DataError("broken JPEG")
    boxes = tuple(PixelBox(label, *box, 0.9 - 0.1 * turn) for turn, (label, *box) in enumerate(boxes_of(number)))
    return ImageProposals(PurePosixPath(image.name), WIDTH, HEIGHT, () if number == 3 else boxes)


def draw(folder: Path, count: int = 5) -> None:
    for number in range(count):
        picture(folder / f"images/{number}.png", number)


def read_boxes(source: Dataset, root: Path) -> dict[str, list[tuple[object, ...]]]:
    by_picture = {}
    for item in source.items(root):
        if not item.problem:
            width, height = (WIDTH, HEIGHT) if item.in_shares else (1, 1)
            boxes = [(e, a * width, b * height, c * width, d * height) for a, b, c, d, e in item.boxes]
            by_picture[item.name] = [(label, *(round(corner, 3) for corner in corners)) for label, *corners in boxes]
    return by_picture


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_sources_read_back_what_was_proposed(kind: str, tmp_path: Path) -> None:
    draw(tmp_path)
    tally = propose(LabelFolder(tmp_path, kind, LABELS), find_objects, "run 3")
    assert (tally.images, tally.boxes, tally.empty, tally.labelled) == (4, 5, 1, 0)
    assert tally.failures == ["images/4.png: broken JPEG"]
    expected = {f"images/{number}.png": [(label, *box) for label, *box in boxes_of(number)] for number in (0, 1, 2)}
    assert read_boxes(FORMATS[kind], tmp_path) == expected
    with (tmp_path / "proposals.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[:3] == [
        ["image", "class", "score", "xmin", "ymin", "xmax", "ymax"],
        ["images/0.png", "ball", "0.9", "2", "3", "12", "13"],
        ["images/0.png", "cube", "0.8", "20", "10", "36", "26"],
    ]
    assert len(rows) == 6
    survey, _ = survey_folder(tmp_path)
    assert survey.layout.kind == {"voc": "pascal_voc"}.get(kind, kind) and survey.total == 3
    with pytest.raises(DataError, match=r"proposals\.csv: .*earlier proposals"):
        LabelFolder(tmp_path, kind, LABELS)


def test_a_label_that_is_there_stays(tmp_path: Path) -> None:
    for kind, folder, text in (("voc", "annotations", voc_xml("1.png", 2)), ("yolo", "labels", yolo_text(2))):
        root = tmp_path / kind
        draw(root, 3)
        own = write(root / folder / f"1{'.xml' if kind == 'voc' else '.txt'}", text)
        beside = write(root / f"images/2{own.suffix}", text)
        tally = propose(LabelFolder(root, kind, LABELS), find_objects, "run 3")
        assert (tally.images, tally.labelled) == (1, 2)
        assert (own.read_text("utf-8"), beside.read_text("utf-8")) == (text, text)
        assert sorted(path.name for path in (root / folder).iterdir()) == [f"0{own.suffix}", own.name]


def test_a_picture_of_a_coco_file_is_labelled(tmp_path: Path) -> None:
    draw(tmp_path, 3)
    tree = {"images": [{"id": 1, "file_name": "1.png"}], "categories": [], "annotations": []}
    write(tmp_path / "result.json", json.dumps(tree))
    tally = propose(LabelFolder(tmp_path, "coco", LABELS), find_objects, "run 3")
    assert (tally.images, tally.labelled) == (2, 1)
    proposed = json.loads((tmp_path / "proposals.json").read_text("utf-8"))
    assert [image["file_name"] for image in proposed["images"]] == ["images/0.png", "images/2.png"]
    assert {annotation["attributes"]["proposal"] for annotation in proposed["annotations"]} == {True}
    assert missing_in(proposed["info"]["description"], "proposal", "run 3") == []
    assert [annotation["score"] for annotation in proposed["annotations"][:2]] == [0.9, 0.8]
    assert count(tmp_path, survey_folder(tmp_path)[0].layout).total


def test_a_pascal_voc_file_says_that_it_is_a_proposal(tmp_path: Path) -> None:
    picture(tmp_path / "0.png", 0)
    propose(LabelFolder(tmp_path, "voc", LABELS), find_objects, "run 3")
    root = ElementTree.parse(tmp_path / "0.xml").getroot()
    assert (root.findtext("source/annotation"), root.findtext("source/database")) == ("proposal", "run 3")
    assert [node.findtext("score") for node in root.findall("object")] == ["0.9", "0.8"]
    assert survey_folder(tmp_path)[0].layout.settings == {"images": "", "annotations": ""}


def test_yolo_keeps_the_order_of_the_classes_that_are_there(tmp_path: Path) -> None:
    draw(tmp_path, 1)
    write(tmp_path / "data.yaml", "names: [goal, ball, cube]\n")
    propose(LabelFolder(tmp_path, "yolo", LABELS), find_objects, "run 3")
    assert [line[0] for line in (tmp_path / "labels/0.txt").read_text("utf-8").splitlines()] == ["1", "2"]
    assert not (tmp_path / "classes.txt").exists()
    write(tmp_path / "data.yaml", "names: [goal, ball]\n")
    (tmp_path / "proposals.csv").unlink()
    with pytest.raises(DataError, match=r"data\.yaml: .*'cube'.*at the end$"):
        LabelFolder(tmp_path, "yolo", LABELS)


def test_a_full_disk_leaves_no_proposal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(tmp_path, 3)
    real = Path.open

    def fill(self: Path, *arguments: str, **more: str) -> object:
        if self.name == "2.xml":
            raise OSError(28, "No space left on device", str(self))
        return real(self, *arguments, **more)  # type: ignore[call-overload]

    place = LabelFolder(tmp_path, "voc", LABELS)
    monkeypatch.setattr(Path, "open", fill)
    with pytest.raises(OSError, match="No space left on device"):
        propose(place, find_objects, "run 3")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["0.png", "1.png", "2.png"]
