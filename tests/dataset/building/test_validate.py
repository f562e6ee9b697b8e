"""Boxes on their image."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.building.image_check import RejectedItem
from bakeoff.dataset.building.validate import fit_boxes, turn_upright
from bakeoff.dataset.sources.dataset import Item, OnBadBox
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.foundation.errors import DataError
from support.built import Build
from support.drawing import encoded, voc, write
from support.messages import missing_in


def item(*boxes: tuple[float, float, float, float, str], recorded: tuple[int, int] | None = (100, 50)) -> Item:
    return Item("a.jpg", "a.jpg", boxes=boxes, recorded=recorded)


def test_pixels_become_shares() -> None:
    [box], notes = fit_boxes(item((10, 5, 60, 45, "cat")), 100, 50, 1)
    assert (box.xmin, box.ymin, box.xmax, box.ymax, box.label) == (0.1, 0.1, 0.6, 0.9, "cat")
    assert notes == ()


@pytest.mark.parametrize("corners", [(-1, 0, 50, 50), (0, -1, 50, 50), (0, 0, 101, 50), (0, 0, 50, 51)])
def test_a_box_that_sticks_out_by_a_pixel_is_clipped_and_reported(corners: tuple) -> None:
    [box], notes = fit_boxes(item((*corners, "cat")), 100, 50, 1)
    assert 0 <= min(box.xmin, box.ymin) and max(box.xmax, box.ymax) <= 1
    assert notes == ("box 1 clipped to the image",)


@pytest.mark.parametrize(
    ("corners", "message"),
    [
        ((-2, 0, 50, 50), r"box 1 \(cat\) .*xmin -2, outside .*\b100x50"),
        ((0, 0, 102, 50), r"box 1 \(cat\) .*xmax 102, outside .*\b100x50"),
        ((0, 0, 50, 60), r"box 1 \(cat\) .*ymax 60, outside .*\b100x50"),
        ((40, 0, 40, 50), r"box 1 \(cat\) has xmax 40 <= xmin 40"),
        ((0, 30, 50, 20), r"box 1 \(cat\) has ymax 20 <= ymin 30"),
        ((float("nan"), 0, 50, 50), r"box 1 \(cat\) .*no number"),
        ((float("inf"), 0, 50, 50), r"box 1 \(cat\) .*no number"),
        ((100.2, 0, 100.9, 50), r"box 1 \(cat\) lies outside .*\b100x50"),
    ],
)
def test_a_box_that_cannot_be_right_is_refused(corners: tuple, message: str) -> None:
    with pytest.raises(RejectedItem, match=message):
        fit_boxes(item((*corners, "cat")), 100, 50, 1)


def test_an_annotation_for_another_size_is_refused() -> None:
    with pytest.raises(RejectedItem, match=r"annotation .*\b100x50\b.*image .*\b50x100\b"):
        fit_boxes(item((10, 5, 60, 45, "cat")), 50, 100, 1)


def test_a_box_annotated_twice_counts_once_and_a_second_class_in_its_place_stays() -> None:
    twice = item((0, 0, 10, 10, "cat"), (0, 0, 10, 10, "cat"), (0, 0, 10, 10, "dog"))
    boxes, notes = fit_boxes(twice, 100, 50, 1)
    assert [box.label for box in boxes] == ["cat", "dog"]
    assert notes == ("box 2 left out, annotated twice",)


def test_no_box_is_an_image_without_objects() -> None:
    assert fit_boxes(item(), 100, 50, 1) == ((), ())


STORED = np.zeros((50, 100), int)
STORED[5:45, 10:60] = 1
UPRIGHT = {
    1: STORED, 2: STORED[:, ::-1], 3: STORED[::-1, ::-1], 4: STORED[::-1], 5: STORED.T, 6: STORED.T[:, ::-1],
    7: STORED.T[::-1, ::-1], 8: STORED.T[::-1],
}  # fmt: skip


@pytest.mark.parametrize("orientation", sorted(UPRIGHT))
def test_a_box_turns_as_the_pixels_do(orientation: int) -> None:
    """Against an array with the box painted in, turned by slicing."""
    painted = UPRIGHT[orientation]
    rows, columns = painted.any(axis=1).nonzero()[0], painted.any(axis=0).nonzero()[0]
    height, width = painted.shape
    expected = columns[0] / width, rows[0] / height, (columns[-1] + 1) / width, (rows[-1] + 1) / height
    assert turn_upright((0.1, 0.1, 0.6, 0.9), orientation) == pytest.approx(expected)


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_the_recorded_size_tells_on_which_orientation_the_labels_were_drawn(orientation: int) -> None:
    as_stored, notes = fit_boxes(item((10, 5, 60, 45, "cat"), recorded=(100, 50)), 50, 100, orientation)
    [note] = notes
    assert missing_in(note, "boxes", "upright") == []
    [box] = as_stored
    shown = (box.xmin * 50, box.ymin * 100, box.xmax * 50, box.ymax * 100, "cat")
    as_shown, notes = fit_boxes(item(shown, recorded=(50, 100)), 50, 100, orientation)
    assert notes == ()
    assert (as_shown[0].xmin, as_shown[0].ymax) == pytest.approx((box.xmin, box.ymax))


# Bad boxes.

EMPTY, SWAPPED, OUTSIDE = (40, 0, 40, 50, "cat"), (50, 0, 40, 50, "cat"), (0, 0, 102, 50, "cat")


@pytest.mark.parametrize(
    ("rule", "bad", "refused"),
    [
        ("reject", EMPTY, True), ("reject", SWAPPED, True), ("reject", OUTSIDE, True),
        ("drop_empty", EMPTY, False), ("drop_empty", SWAPPED, True), ("drop_empty", OUTSIDE, True),
        ("drop", EMPTY, False), ("drop", SWAPPED, False), ("drop", OUTSIDE, False),
    ],
)  # fmt: skip
def test_the_setting_says_whether_a_bad_box_costs_its_image(rule: OnBadBox, bad: tuple, refused: bool) -> None:
    with pytest.raises(RejectedItem, match=r"box 2 \(cat\) has ") if refused else nullcontext():
        boxes, notes = fit_boxes(item((10, 5, 60, 45, "dog"), bad, (0, 0, 9, 9, "emu")), 100, 50, 1, rule)
        assert [box.label for box in boxes] == ["dog", "emu"]
        assert len(notes) == 1 and notes[0].startswith("box 2 (cat) has ") and notes[0].endswith("; left out")


@pytest.mark.parametrize("rule", ["drop_empty", "drop"])
def test_an_image_that_keeps_no_box_is_no_image_without_objects(rule: OnBadBox) -> None:
    with pytest.raises(RejectedItem, match=r"^box 1 \(cat\) has xmax 40 <= xmin 40$"):
        fit_boxes(item(EMPTY, EMPTY), 100, 50, 1, rule)


def test_two_boxes_of_no_area_cost_no_other_and_are_counted_and_named(make: Build, tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / f"set/images/{number}.jpg", encoded(number))
        write(tmp_path / f"set/annotations/{number}.xml", voc([("cat", 4, 6, 20, 18)]))
    write(tmp_path / "set/annotations/0.xml", voc([("cat", 4, 6, 20, 18), ("cat", 5, 5, 5, 9)]))
    many: list = [("cat", n, n, n + 3, n + 3) for n in range(13)]
    write(tmp_path / "set/annotations/1.xml", voc([*many, ("dog", 9, 9, 9, 12)]))
    built = make(PascalVoc(path="set"))
    assert [len(row["image/object/class/label"]) for _, row in sorted(built.every().items())] == [1, 13, 1, 1, 1, 1]
    [warning] = built.findings.warnings
    bad = "box 2 (cat) has xmax 5 <= xmin 5"
    assert missing_in(warning, "2 bad boxes", "(data.on_bad_box)", "images/0.jpg", bad) == []
    report = built.report
    changed = {"images/0.jpg": bad, "images/1.jpg": "box 14 (dog) has xmax 9 <= xmin 9"}
    assert report["changed"].keys() == changed.keys()
    for name, [note] in report["changed"].items():
        assert missing_in(note, changed[name], "left out") == []
    with pytest.raises(DataError, match=r"2 of 6 files are rejected"):
        make(PascalVoc(path="set", on_bad_box="reject"))
