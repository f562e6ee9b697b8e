import xml.etree.ElementTree as ElementTree

import pytest

from bakeoff.curve import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Mark, curve_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(points: list[tuple[int, float]], marks: list[Mark] | None = None, steps: int = 100) -> ElementTree.Element:
    return ElementTree.fromstring(curve_svg("a <rate> & more", points, marks or [], steps=steps))


def corners(picture: ElementTree.Element) -> list[tuple[float, float]]:
    [line] = picture.findall(f"{SVG}polyline")
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


def texts(picture: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in picture.findall(f"{SVG}text")]


def test_the_first_step_is_at_the_left_and_the_last_at_the_right_zero_below() -> None:
    left, right, bottom = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
    assert corners(drawn([(0, 1.0), (50, 0.5), (100, 0.0)])) == [
        (left, TOP), ((left + right) / 2, (TOP + bottom) / 2), (right, bottom),
    ]  # fmt: skip


@pytest.mark.parametrize(("peak", "top"), [(0.08, "0.1"), (0.1, "0.1"), (0.0003, "0.0005"), (1.7, "2"), (2.4, "2.5")])
def test_the_scale_ends_at_the_next_round_number(peak: float, top: str) -> None:
    assert top in texts(drawn([(0, peak)]))


def test_the_title_is_a_text_whatever_it_holds() -> None:
    assert texts(drawn([(0, 1.0)]))[0] == "a <rate> & more"


def test_marks_stand_at_their_steps_and_their_words_do_not_lie_on_each_other() -> None:
    picture = drawn([(0, 1.0)], [Mark(10, "warm-up"), Mark(11, "hold"), Mark(12, "nowhere"), Mark(60, "cosine")])
    dashed = [line for line in picture.findall(f"{SVG}line") if "stroke-dasharray" in line.attrib]
    width = WIDTH - LEFT - RIGHT
    assert [float(line.attrib["x1"]) for line in dashed] == pytest.approx(
        [LEFT + width * step / 100 for step in (10, 11, 12, 60)], abs=0.06
    )
    words = {element.text: element.attrib for element in picture.findall(f"{SVG}text")}
    assert words["warm-up"]["y"] != words["hold"]["y"] and "nowhere" not in words and "cosine" in words


def test_a_rate_of_zero_all_along_is_drawn_at_the_bottom() -> None:
    assert {y for _, y in corners(drawn([(0, 0.0), (100, 0.0)]))} == {HEIGHT - BOTTOM}


def test_in_decades_every_tenth_is_as_far_down_as_the_one_before_and_zero_at_the_bottom() -> None:
    text = curve_svg("rates", [(0, 0.1), (50, 0.001), (100, 0.00001), (100, 0.0)], [], steps=100, decades=True)
    picture = ElementTree.fromstring(text)
    assert [y for _, y in corners(picture)] == [TOP, (TOP + HEIGHT - BOTTOM) / 2, HEIGHT - BOTTOM, HEIGHT - BOTTOM]
    assert {"0.1", "0.01", "0.001", "0.0001", "1e-05"} <= set(texts(picture))


def test_decades_of_one_value_have_room_below_it() -> None:
    text = curve_svg("rates", [(0, 0.1), (100, 0.1)], [], steps=100, decades=True)
    assert {y for _, y in corners(ElementTree.fromstring(text))} == {TOP}
