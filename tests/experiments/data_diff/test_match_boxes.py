"""What became of each box of a picture of 100 by 100 pixels, and what is no change."""

from collections import Counter

import pytest

from bakeoff.dataset.records.record import Box
from bakeoff.experiments.data_diff.match_boxes import compare_boxes

SHAPES = ((100, 100), (100, 100))
CAT, DOG, CUP = (10, 10, 50, 40, "cat"), (60, 60, 90, 90, "dog"), (5, 70, 25, 95, "cup")


def boxes(*rows: tuple[float, float, float, float, str]) -> tuple[Box, ...]:
    """In pixels: xmin ymin xmax ymax label."""
    return tuple(Box(y0 / 100, x0 / 100, y1 / 100, x1 / 100, label) for x0, y0, x1, y1, label in rows)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ([CAT, DOG], [DOG, CAT], []),
        ([CAT, DOG], [(10.4, 9.6, 50.4, 40, "cat"), DOG], []),
        ([CAT, DOG], [(11, 10, 51, 40, "cat"), DOG], ["box moved"]),
        ([CAT, DOG], [(55, 5, 95, 35, "cat"), DOG], ["box moved"]),
        ([CAT, DOG], [(10, 10, 50, 41, "cat"), DOG], ["box resized"]),
        ([CAT, DOG], [(10, 10, 50, 40, "dog"), DOG], ["box re-classed"]),
        ([CAT, DOG], [(12, 11, 50, 40, "dog"), DOG], ["box re-classed"]),
        ([CAT, DOG], [DOG], ["box went"]),
        ([CAT], [CAT, DOG, CUP], ["box came", "box came"]),
        ([CAT, DOG], [(10, 10, 30, 40, "cat"), (30, 10, 50, 40, "cat"), DOG], ["box split"]),
        ([(10, 10, 30, 40, "cat"), (30, 10, 50, 40, "cat"), DOG], [CAT, DOG], ["boxes joined"]),
        ([CAT], [(10, 10, 40, 40, "dog"), (60, 10, 70, 50, "cup")], ["box came", "box re-classed"]),
        ([CAT, CUP], [(10, 10, 50, 40, "dog"), (8, 70, 28, 95, "cup")], ["box moved", "box re-classed"]),
        ([], [], []),
    ],
)
def test_each_change_has_one_name(before: list, after: list, kinds: list[str]) -> None:
    found = [one.kind.value for one in compare_boxes(boxes(*before), boxes(*after), SHAPES)]
    assert sorted(found) == kinds


def test_every_box_is_told_of_at_most_once() -> None:
    before = boxes(CAT, DOG, CUP, (0, 0, 8, 8, "cat"), (70, 0, 99, 20, "cat"))
    after = boxes((12, 10, 52, 40, "cat"), (60, 60, 75, 90, "dog"), (75, 60, 90, 90, "dog"), (70, 0, 99, 25, "cup"))
    changed = list(compare_boxes(before, after, SHAPES))
    for key, given in (("before", before), ("after", after)):
        told = Counter(box for one in changed for box in getattr(one, key))
        assert told == Counter(given)


def test_a_picture_of_half_the_size_has_corners_that_were_rounded() -> None:
    odd = boxes((11, 13, 57, 41, "cat"))
    halved = tuple(Box(round(b.ymin * 50) / 50, round(b.xmin * 50) / 50, round(b.ymax * 50) / 50,
                       round(b.xmax * 50) / 50, b.label) for b in odd)  # fmt: skip
    assert list(compare_boxes(odd, halved, ((100, 100), (50, 50)))) == []
