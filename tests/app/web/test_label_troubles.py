"""A class in two spellings and boxes outside of the photo are said where the photos are, and repaired by a button."""

import json
from pathlib import Path

import pytest

from bakeoff.app.web.label_troubles import is_slip
from bakeoff.dataset.sources.voc import read_voc
from support.asking import Page


@pytest.fixture
def gym(folder: Path) -> Path:
    for inside in ("images", "annotations"):
        (folder / "data/raw/gym" / inside).mkdir(parents=True)
    return folder / "data/raw/gym"


def write(gym: Path, number: int, *boxes: tuple[str, int, int, int, int], more: str = "") -> None:
    """A label of a photo of 100 x 80 pixels."""
    objects = "".join(
        f"<object><name>{label}</name>{more}<bndbox><xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax>"
        f"<ymax>{bottom}</ymax></bndbox></object>"
        for label, left, top, right, bottom in boxes
    )
    size = "<size><width>100</width><height>80</height><depth>3</depth></size>"
    text = f"<annotation><filename>{number}.jpg</filename>{size}{objects}</annotation>"
    (gym / f"annotations/{number}.xml").write_text(text, encoding="utf-8")
    (gym / f"images/{number}.jpg").write_bytes(b"jpeg")


def read(gym: Path, number: int) -> tuple:
    return read_voc((gym / f"annotations/{number}.xml").read_bytes())[2]


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("marker", "Marker", True), ("marker", "markers", True), ("marker", "maker", True), ("marker", "marekr", True),
        ("marker", "marked", True), ("traffic cone", "traffic-cone", True), ("cube", "cub", False),
        ("red", "bed", False),
        ("cube1", "cube2", False), ("cube", "cube 2", False), ("marker", "cube", False), ("ball", "balloon", False),
        ("Würfel", "würfel", True), ("", "", True),
    ],
)  # fmt: skip
def test_a_slip_is_told_from_another_class(one: str, other: str, is_one: bool) -> None:
    assert is_slip(one, other) == is_slip(other, one) == is_one


def test_two_spellings_are_joined_by_a_button_and_nothing_else_changes(page: Page, gym: Path) -> None:
    write(gym, 1, ("marker", 1, 2, 30, 40), ("cube", 40, 2, 60, 40), more="<difficult>1</difficult>")
    write(gym, 2, ("marker", 5, 2, 30, 40))
    write(gym, 3, ("Markr", 5, 2, 30, 40), ("cube", 40, 2, 60, 40), more="<difficult>1</difficult>")
    (gym / "classes.txt").write_text("Markr\nmarker\ncube\n", encoding="utf-8")
    before = (gym / "annotations/1.xml").read_bytes()
    assert 'data-load="/labels/gym/troubles"' in page.get("/photos/gym").text
    text = page.get("/labels/gym/troubles").text
    assert "“Markr” (1 box) looks like “marker” (2)" in text and 'data-label="Markr" data-of="marker"' in text
    assert page.send("/labels/gym/join", label="Markr", of="marker").tree == {"renamed": 1, "goto": "/photos/gym"}
    assert [box[-1] for box in read(gym, 3)] == ["marker", "cube"] and (
        gym / "annotations/1.xml"
    ).read_bytes() == before
    assert b"<difficult>1</difficult>" in (gym / "annotations/3.xml").read_bytes()
    assert (gym / "classes.txt").read_text(encoding="utf-8").split() == ["marker", "cube"]
    assert "<li>" not in page.get("/labels/gym/troubles").text
    assert page.send("/labels/gym/join", label="cube", of="cube").code == 400


def test_proposals_are_joined_with_the_labels(page: Page, gym: Path) -> None:
    write(gym, 1, ("marker", 1, 2, 30, 40))
    coco = {
        "images": [{"id": 1, "file_name": "images/1.jpg"}], "categories": [{"id": 1, "name": "Markr"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 30], "score": 0.5}],
    }  # fmt: skip
    (gym / "proposals.json").write_text(json.dumps(coco), encoding="utf-8")
    page.send("/labels/gym/join", label="Markr", of="marker")
    frame = page.get("/labels/gym/frame?name=images/1.jpg").tree
    assert [box["label"] for box in frame["proposals"]] == ["marker"]


def test_boxes_outside_are_cut_at_the_edge_and_those_wholly_outside_go(page: Page, gym: Path) -> None:
    write(gym, 1, ("marker", -20, 2, 30, 95), ("cube", 140, 2, 160, 40), ("cube", 40, 2, 60, 40))
    write(gym, 2, ("marker", 0, 0, 100, 80))
    (gym / "annotations/3.xml").write_text("<annotation>", encoding="utf-8")  # damaged: it stays as it is
    text = page.get("/labels/gym/troubles").text
    assert "out of 1 photo," in text and "<code>1.xml</code>" in text and "2.xml" not in text
    assert page.send("/labels/gym/cut").tree["cut"] == 2
    assert [box[:4] for box in read(gym, 1)] == [(0, 2, 30, 80), (40, 2, 60, 40)]
    assert page.send("/labels/gym/cut").tree["cut"] == 0
    assert (gym / "annotations/3.xml").read_text(encoding="utf-8") == "<annotation>"


def test_a_new_class_that_looks_like_another_is_asked_about(page: Page, gym: Path) -> None:
    assert page.send("/labels/gym/classes", label="marker").tree == {"classes": ["marker"]}
    assert page.send("/labels/gym/classes", label="markr").tree == {"classes": ["marker"], "slip_of": "marker"}
    assert page.send("/labels/gym/classes", label="markr", sure=True).tree == {"classes": ["marker", "markr"]}
    assert page.send("/labels/gym/classes", label="cube").tree == {"classes": ["marker", "markr", "cube"]}
