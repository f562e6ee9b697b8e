"""Boxes on the page: saved at once as Pascal VOC, two browsers apart, proposals that are no truth by themselves."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bakeoff.app.web.annotations import AnnotationFolder
from bakeoff.dataset.sources.voc import read_voc
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.pre_annotate import ImageProposals, LabelFolder, PixelBox, propose
from bakeoff.learning.run_file.yaml_file import read_mapping
from support.asking import Answer, Page
from support.messages import missing_in
from support.moving_things import draw

FIRST, SECOND, THIRD = (f"images/match_{number:08d}ms.jpg" for number in (0, 500, 1000))
BOX = {"label": "ball", "score": None, "xmin": 10.0, "ymin": 20.5, "xmax": 110.0, "ymax": 90.0}


@pytest.fixture
def raw(folder: Path) -> Path:
    root = folder / "data/raw/match"
    (root / "images").mkdir(parents=True)
    for name in (FIRST, SECOND, THIRD):
        draw(0.0).save(root / name)
    return root


def load(page: Page, frame: str) -> dict[str, Any]:
    return page.get(f"/labels/match/frame?name={frame}").tree


def save(page: Page, frame: str, *boxes: dict[str, Any], version: str = "", **more: Any) -> Answer:
    tree = {"boxes": [*boxes], "proposals": [], "labelled": True, "version": version, "size": [480, 360], **more}
    return page.send(f"/labels/match/frame?name={frame}", method="PUT", **tree)


def write_proposals(raw: Path) -> None:
    """As `bakeoff propose --as coco` does."""
    scene = ImageProposals(
        None, 480, 360, (PixelBox("cube", 1.0, 2.0, 31.0, 42.0, 0.75), PixelBox("ball", 5.0, 5.0, 9.0, 9.0, 0.5))
    )
    propose(LabelFolder(raw, "coco", ["ball", "cube"]), lambda image: scene, "run 1234")


def test_a_box_is_saved_at_once_where_build_records_reads_it(page: Page, raw: Path) -> None:
    assert save(page, FIRST, BOX).code == 200
    path = raw / "annotations/match_00000000ms.xml"
    assert read_voc(path.read_bytes()) == ("match_00000000ms.jpg", (480, 360), ((10.0, 20.5, 110.0, 90.0, "ball"),))
    assert load(page, FIRST)["boxes"] == [BOX]
    assert [frame[1] for frame in page.get("/labels/match/frames").tree["frames"]] == [True, False, False]


def test_nothing_here_is_a_label_and_undoing_it_is_none(page: Page, raw: Path) -> None:
    version = save(page, FIRST).tree["version"]
    assert read_voc((raw / "annotations/match_00000000ms.xml").read_bytes())[2] == ()
    assert save(page, FIRST, version=version, labelled=False).tree["version"] == ""
    assert not (raw / "annotations/match_00000000ms.xml").exists()


def test_two_browsers_do_not_overwrite_each_other(page: Page, raw: Path) -> None:
    version = save(page, FIRST, BOX).tree["version"]
    other = BOX | {"label": "cube"}
    assert save(page, FIRST, BOX, other, version=version).code == 200
    answer = save(page, FIRST, BOX | {"xmin": 11.0}, version=version)
    assert answer.code == 409
    assert "somebody else" in answer.tree["problem"]
    assert answer.tree["boxes"] == load(page, FIRST)["boxes"] == [BOX, other]
    assert save(page, SECOND, BOX, version="0123456789abcdef").code == 409  # its label is gone, or never was


def test_what_another_program_wrote_of_a_box_stays_with_it(page: Page, raw: Path) -> None:
    path = raw / "annotations/match_00000000ms.xml"
    path.parent.mkdir()
    corners = "<bndbox><xmin>10</xmin><ymin>20.5</ymin><xmax>110</xmax><ymax>90</ymax></bndbox>"
    path.write_text(
        "<annotation><folder>f</folder><source><database>cvat</database></source>"
        f"<object><name>ball</name><difficult>1</difficult><occluded>1</occluded>{corners}</object></annotation>",
        encoding="utf-8",
    )
    version = load(page, FIRST)["version"]
    save(page, FIRST, BOX, BOX | {"label": "cube"}, version=version)
    text = path.read_text(encoding="utf-8")
    assert "<occluded>1</occluded>" in text and "<difficult>1</difficult>" in text and "cvat" in text
    assert text.count("<object>") == 2


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (BOX | {"xmax": 5.0}, "have an area"),
        (BOX | {"xmin": -1.0}, "must lie in the picture"),
        (BOX | {"xmin": float("nan")}, "must be JSON"),
        (BOX | {"xmin": "1"}, "four numbers each"),
        (BOX | {"label": ""}, "printable letters"),
        (BOX | {"label": "a\nb"}, "printable letters"),
        ({}, "four numbers each"),
    ],
)
def test_boxes_that_are_none_are_refused(page: Page, raw: Path, box: dict[str, Any], message: str) -> None:
    answer = save(page, FIRST, box)
    assert answer.code == 400 and message in answer.tree["problem"]
    assert not (raw / "annotations").exists()


def test_a_class_that_is_html_is_shown_as_text(page: Page, raw: Path) -> None:
    label = "<script>alert(1)</script>"
    assert page.send("/labels/match/classes", label=label).tree["classes"] == [label]
    assert save(page, FIRST, BOX | {"label": label}).code == 200
    assert load(page, FIRST)["boxes"][0]["label"] == label
    assert "<script>alert" not in page.get("/labels/match").text
    assert page.send("/labels/match/classes", label="a\x00b").code == 400


@pytest.mark.parametrize("name", ["../../../conf/x.jpg", "/etc/passwd", "images/../../x.jpg", "", "images/none.jpg"])
def test_no_frame_lies_elsewhere(page: Page, raw: Path, name: str) -> None:
    assert page.get(f"/labels/match/image?name={name}").code in (400, 404)
    assert save(page, name, BOX).code in (400, 404)
    assert page.send("/labels/match/aside", name=name).code in (400, 404)
    assert page.get("/labels/..%2f..%2fconf").code in (400, 404)


def test_html_that_is_called_a_picture_is_refused(page: Page, raw: Path) -> None:
    (raw / FIRST).write_text("<script>alert(1)</script>", encoding="utf-8")
    answer = page.get(f"/labels/match/image?name={FIRST}", Accept="application/json")
    assert answer.code == 400 and "image" not in answer.headers["content-type"]
    assert page.get(f"/labels/match/image?name={SECOND}").headers["content-type"] == "image/jpeg"


def test_an_ignored_frame_is_no_example_and_comes_back_with_its_label(page: Page, raw: Path) -> None:
    save(page, FIRST, BOX)
    assert page.send("/labels/match/aside", name=FIRST).tree["moved"] == "ignored/match_00000000ms.jpg"
    listed = page.get("/labels/match/frames").tree
    assert [frame[0] for frame in listed["frames"]] == [SECOND, THIRD]
    assert listed["ignored"] == ["ignored/match_00000000ms.jpg"]
    assert not (raw / "annotations/match_00000000ms.xml").exists()
    page.send("/labels/match/aside", name="ignored/match_00000000ms.jpg", back=True)
    assert load(page, FIRST)["boxes"] == [BOX]


def test_a_proposal_is_no_label_until_it_is_accepted(page: Page, raw: Path) -> None:
    write_proposals(raw)
    before = load(page, FIRST)
    assert (before["labelled"], before["boxes"]) == (False, [])
    assert [(box["label"], box["score"]) for box in before["proposals"]] == [("cube", 0.75), ("ball", 0.5)]
    assert not (raw / "annotations").exists()
    cube, _ = before["proposals"]
    after = save(page, FIRST, cube | {"score": None}).tree  # the cube is accepted, the ball refused
    assert (len(after["boxes"]), after["proposals"]) == (1, [])
    assert len(load(page, SECOND)["proposals"]) == 2
    for frame in (SECOND, THIRD):
        save(page, frame, labelled=False)
    assert not (raw / "proposals.json").exists() and not (raw / "proposals.csv").exists()
    assert not (raw / "annotations/match_00000500ms.xml").exists()


def test_a_proposal_in_pascal_voc_waits_for_approval_as_well(page: Page, raw: Path) -> None:
    scene = ImageProposals(None, 480, 360, (PixelBox("cube", 1.0, 2.0, 31.0, 42.0, 0.75),))
    propose(LabelFolder(raw, "voc", ["cube"]), lambda image: scene, "run 1234")
    there = load(page, FIRST)
    assert (there["labelled"], there["boxes"], len(there["proposals"])) == (False, [], 1)
    save(page, FIRST, there["proposals"][0] | {"score": None}, version=there["version"])
    text = (raw / "annotations/match_00000000ms.xml").read_text(encoding="utf-8")
    assert "proposal" not in text and "score" not in text


def test_damaged_proposals_are_reported(raw: Path) -> None:
    (raw / "proposals.json").write_text(json.dumps({"images": 1}), encoding="utf-8")
    with pytest.raises(DataError, match="proposals.json: cannot be read"):
        AnnotationFolder("match").read(FIRST)


@pytest.mark.parametrize(
    "corner", ["<xmin>nan</xmin>", "<xmin>1e400</xmin>", "", "<xmin>left</xmin>", "<xmin>-inf</xmin>"]
)
def test_a_box_without_a_place_is_left_out_and_others_are_shown(page: Page, raw: Path, corner: str) -> None:
    others = "<ymin>2</ymin><xmax>30</xmax><ymax>40</ymax>"
    boxes = "".join(
        f"<object><name>ball</name><bndbox>{first}{others}</bndbox></object>" for first in (corner, "<xmin>1</xmin>")
    )
    (raw / "annotations").mkdir()
    (raw / "annotations/match_00000000ms.xml").write_text(f"<annotation>{boxes}</annotation>")
    assert [box["xmin"] for box in load(page, FIRST)["boxes"]] == [1.0]
    assert page.get("/labels/match/frames").code == 200


@pytest.mark.parametrize(
    ("data", "classes"),
    [
        ("Höhle\nball\n".encode("latin-1"), ["Höhle", "ball"]),
        ("Höhle\nball\n".encode("utf-16"), ["Höhle", "ball"]),
        ("\ufeffHöhle\r\nball".encode(), ["Höhle", "ball"]),
        (b"ball\n\0\1\x1b[31m\n", ["ball"]),
    ],
)
def test_classes_of_any_program_are_read(page: Page, raw: Path, data: bytes, classes: list[str]) -> None:
    (raw / "classes.txt").write_bytes(data)
    assert page.get("/labels/match/frames").tree["classes"] == classes


ODD_PROPOSAL = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}


@pytest.mark.parametrize(
    "odd",
    [
        {"bbox": [1, 2, float("nan"), 4]}, {"bbox": ["a", 2, "b", 4]}, {"bbox": [1, 2, 10**400, 4]}, {"bbox": None},
        {"score": float("inf")}, {"score": "much"}, {"category_id": []}, {"image_id": 7},
    ],
)  # fmt: skip
def test_odd_proposals_are_refused_by_their_file(page: Page, raw: Path, odd: dict[str, Any]) -> None:
    tree = {
        "images": [{"id": 1, "file_name": FIRST}], "categories": [{"id": 1, "name": "ball"}],
        "annotations": [ODD_PROPOSAL | odd],
    }  # fmt: skip
    (raw / "proposals.json").write_text(json.dumps(tree))
    answer = page.get(f"/labels/match/frame?name={FIRST}", Accept="application/json")
    assert answer.code == 400 and missing_in(answer.tree["problem"], "match/proposals.json", "move it away") == []


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-1", "1e400", "2"])
def test_a_proposal_has_a_score_that_every_reader_knows(page: Page, raw: Path, score: str) -> None:
    box = json.dumps(BOX | {"score": 0.5}).replace("0.5,", f"{score},")
    body = f'{{"boxes": [], "proposals": [{box}], "labelled": false, "version": "", "size": [480, 360]}}'
    address = f"/labels/match/frame?name={FIRST}"
    assert page.ask("PUT", address, body.encode(), X_Bakeoff="page").code == 400
    assert not (raw / "proposals.json").exists() and page.get(address).code == 200


def test_links_do_not_lead_readers_or_writers_out_of_the_folder(page: Page, raw: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s3cr3t\n")
    (raw / "classes.txt").symlink_to(tmp_path / "outside/secret")
    (raw / "annotations").symlink_to(tmp_path / "outside")
    assert "s3cr3t" not in page.get("/labels/match/frames").text
    answer = save(page, FIRST, BOX)
    assert answer.code == 400 and missing_in(answer.tree["problem"], "annotations", "leads out") == []
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret"]


@pytest.mark.parametrize("name", ["a" * 256, "%ED%A0%80.jpg", "ä" * 128, "images/match_00000000ms.jpg/x.jpg"])
def test_no_name_ends_in_a_fault_of_the_server(page: Page, raw: Path, name: str) -> None:
    for path in (f"/labels/match/frame?name={name}", f"/labels/{name}/frames", f"/labels/match/image?name={name}"):
        assert page.get(quote(path, safe="/?=%")).code in (400, 404)
    assert page.ask("GET", quote(f"/uploads/{'k' * 8}/{name}", safe="/%")).code in (200, 400, 404)


def test_what_is_labelled_becomes_a_dataset(page: Page, folder: Path, raw: Path) -> None:
    for number, frame in enumerate((FIRST, SECOND)):
        save(page, frame, BOX, BOX | {"label": ("cube", "ball")[number]})
    answer = page.send("/labels/match/dataset")
    assert answer.tree["goto"] == "/train?data=match"
    option = read_mapping(folder / "conf/data/match.yaml")
    assert (option["kind"], option["path"], option["unlabelled"]) == ("pascal_voc", "data/raw/match", "skip")
    assert option["split"] == {"by": "blocks"}  # one film
    assert page.send("/labels/match/dataset").code == 400
    assert "2 cannot" not in page.get("/data/match/summary").text


def test_the_tracker_says_what_it_needs(page: Page, raw: Path) -> None:
    answer = page.send("/labels/match/track", name=FIRST)
    assert "draw one" in answer.tree["problem"]
    try:
        import cv2  # noqa: F401
    except ImportError:
        save(page, FIRST, BOX)
        answer = page.send("/labels/match/track", name=FIRST)
        assert missing_in(answer.tree["problem"], "OpenCV", "`pip install") == []


def test_only_a_run_that_is_known_is_asked(page: Page, raw: Path) -> None:
    answer = page.send("/labels/match/propose", run="--help", key="123456")
    assert answer.code == 400 and missing_in(answer.tree["problem"], "'--help'", "no such run") == []


def test_of_many_that_save_a_frame_at_once_one_is_in_time_and_its_label_is_whole(page: Page, raw: Path) -> None:
    def draw_box(number: int) -> int:
        return save(page, FIRST, BOX | {"label": f"class {number}"}).code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(draw_box, range(16)))
    assert sorted(codes) == [200, *[409] * 15]
    [box] = load(page, FIRST)["boxes"]
    assert codes[int(box["label"].split()[1])] == 200


def test_what_is_saved_of_other_frames_meanwhile_is_kept(page: Page, raw: Path) -> None:
    """All frames of a folder share one file of proposals."""
    write_proposals(raw)
    waiting = page.get(f"/labels/match/frame?name={THIRD}").tree["proposals"]

    def keep_saving(frame: str) -> list[int]:
        codes, version = [], ""
        for number in range(8):
            proposals = [BOX | {"label": f"class {number}", "score": 0.5}]
            answer = save(page, frame, BOX, version=version, proposals=proposals)
            codes.append(answer.code)
            version = answer.tree["version"]
        return codes

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(keep_saving, (FIRST, SECOND))] == [[200] * 8, [200] * 8]
    for frame in (FIRST, SECOND):
        assert [box["label"] for box in load(page, frame)["proposals"]] == ["class 7"]
    assert load(page, THIRD)["proposals"] == waiting


def test_a_linked_folder_is_named_beside_the_others(page: Page, raw: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (raw.parent / "linked").symlink_to(tmp_path / "outside")
    answer = page.get("/labels")
    assert answer.code == 200 and 'href="/labels/match"' in answer.text and 'href="/labels/linked"' not in answer.text
    assert missing_in(answer.text, "linked", "data/raw/", "leads out") == []
