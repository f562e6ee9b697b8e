"""models/config/lr.svg: the rate over this run's steps, with its turns and phases marked."""

import xml.etree.ElementTree as ElementTree

import pytest

from bakeoff.config.compose.lr_plot import FRAME, draw_curve, lr_svg
from bakeoff.learning.lr.decays import Constant, Cosine
from bakeoff.learning.lr.schedule import Schedule, Turn
from bakeoff.learning.plan.phases import Span, TrainingPhase

SVG = "{http://www.w3.org/2000/svg}"
LEFT, RIGHT, TOP, BOTTOM = FRAME.x(0), FRAME.x(1), FRAME.y(1), FRAME.y(0)


def leg(schedule: Schedule, steps: int, first: int = 0, name: str = "all", factor: float = 1.0) -> TrainingPhase:
    return TrainingPhase(Span(name, first, steps, 0, 8, factor), schedule.over(steps, steps_per_epoch=10), (), "last")


def drawn(*legs: TrainingPhase) -> tuple[list[str], list[tuple[float, float]]]:
    """Its words, and the corners of its line."""
    picture = ElementTree.fromstring(lr_svg("a · b · c", legs))
    return texts(picture), corners(picture)


def corners(picture: ElementTree.Element) -> list[tuple[float, float]]:
    [line] = picture.findall(f"{SVG}polyline")
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


def texts(picture: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in picture.findall(f"{SVG}text")]


def test_the_rate_is_drawn_from_the_first_step_to_the_last_with_its_turns() -> None:
    words, line = drawn(leg(Cosine(0.1, warmup_steps=20, hold_steps=10), 100))
    assert "a · b · c" in words[0] and words[0].endswith("(at most 0.1)")
    assert {"hold", "cosine"} <= set(words) and "all" not in words
    width, height = RIGHT - LEFT, BOTTOM - TOP
    assert line[0] == pytest.approx((LEFT, TOP + height * (1 - 1 / 21)), abs=0.06)
    assert min(y for _, y in line) == TOP
    assert line[-1][0] == pytest.approx(LEFT + width * 0.99, abs=0.06)


def test_the_rate_is_drawn_as_it_is_scaled_with_the_batch() -> None:
    words, _ = drawn(leg(Constant(0.1), 100, factor=0.125))
    assert words[0].endswith("(at most 0.0125)")


def test_phases_are_marked_by_name_and_rates_far_apart_are_drawn_in_decades() -> None:
    near, far = leg(Constant(0.01), 50, 50, "slower"), leg(Constant(0.0001), 50, 50, "slower")
    words, even = drawn(leg(Constant(0.1), 50, name="head"), near)
    assert {"head", "slower"} <= set(words) and "0.02" in words
    words, decades = drawn(leg(Constant(0.1), 50, name="head"), far)
    assert {"0.1", "0.01", "0.001", "0.0001"} <= set(words)
    assert even[-1][1] < BOTTOM == decades[-1][1]


def test_equal_runs_have_equal_bytes() -> None:
    assert lr_svg("x", [leg(Cosine(0.1), 1000)]) == lr_svg("x", [leg(Cosine(0.1), 1000)])


# The curve by itself.


def curve(points: list[tuple[int, float]], *marks: Turn, decades: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(draw_curve("a <rate> & more", points, marks, steps=100, decades=decades))


def test_the_first_step_is_at_the_left_and_the_last_at_the_right_zero_below() -> None:
    assert corners(curve([(0, 1.0), (50, 0.5), (100, 0.0)])) == [
        (LEFT, TOP), ((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2), (RIGHT, BOTTOM),
    ]  # fmt: skip


@pytest.mark.parametrize(("peak", "top"), [(0.08, "0.1"), (0.1, "0.1"), (0.0003, "0.0005"), (1.7, "2"), (2.4, "2.5")])
def test_the_scale_ends_at_the_next_round_number(peak: float, top: str) -> None:
    assert top in texts(curve([(0, peak)]))


def test_the_title_is_a_text_whatever_it_holds() -> None:
    assert texts(curve([(0, 1.0)]))[0] == "a <rate> & more"


def test_marks_stand_at_their_steps_and_their_words_do_not_lie_on_each_other() -> None:
    picture = curve([(0, 1.0)], (10, "warm-up"), (11, "hold"), (12, "nowhere"), (60, "cosine"))
    dashed = [line for line in picture.findall(f"{SVG}line") if line.attrib["class"] == "mark"]
    width = RIGHT - LEFT
    assert [float(line.attrib["x1"]) for line in dashed] == pytest.approx(
        [LEFT + width * step / 100 for step in (10, 11, 12, 60)], abs=0.06
    )
    words = {element.text: element.attrib for element in picture.findall(f"{SVG}text")}
    assert words["warm-up"]["y"] != words["hold"]["y"] and "nowhere" not in words and "cosine" in words


def test_a_rate_of_zero_all_along_is_drawn_at_the_bottom() -> None:
    assert {y for _, y in corners(curve([(0, 0.0), (100, 0.0)]))} == {BOTTOM}


def test_in_decades_every_tenth_is_as_far_down_as_the_one_before_and_zero_at_the_bottom() -> None:
    picture = curve([(0, 0.1), (50, 0.001), (100, 0.00001), (100, 0.0)], decades=True)
    assert [y for _, y in corners(picture)] == [TOP, (TOP + BOTTOM) / 2, BOTTOM, BOTTOM]
    assert {"0.1", "0.01", "0.001", "0.0001", "1e-05"} <= set(texts(picture))


def test_decades_of_one_value_have_room_below_it() -> None:
    assert {y for _, y in corners(curve([(0, 0.1), (100, 0.1)], decades=True))} == {TOP}
