"""Elements, scales and words that do not lie on each other."""

import xml.etree.ElementTree as ElementTree

import pytest

from bakeoff.foundation.formatting import shorten
from bakeoff.foundation.html.svg import (  # fmt: skip
    Frame,
    Scale,
    draw,
    draw_across,
    draw_below,
    draw_dots,
    draw_polyline,
    draw_svg,
    draw_text,
    fit_labels,
)

FRAME = Frame(200, 100, left=20, right=30, top=10, bottom=40)


def test_texts_and_attributes_are_text_whatever_is_in_them() -> None:
    nasty = "<b>'a' & \"b\"</b>"
    root = ElementTree.fromstring(str(draw("g", draw_text(1, 2, nasty, title=nasty), aria_label=nasty, data_at=3)))
    assert root.attrib == {"aria-label": nasty, "data-at": "3"}
    assert (root[0].text, root[0][0].text) == (nasty, nasty)
    assert root[0].attrib == {"x": "1", "y": "2"}


def test_numbers_are_written_to_a_tenth_of_a_pixel() -> None:
    assert str(draw("a", x=1.0, y=2.26, z=-0.01, w=7, v=None)) == '<a x="1" y="2.3" z="0" w="7"/>'
    assert str(draw_polyline([(1.0, 2.25), (1234.56, 0)])) == '<polyline points="1,2.2 1234.6,0"/>'
    assert str(draw_dots([(1.0, 2.0), (3.5, 4.0)])) == '<path d="M1 2h0M3.5 4h0"/>'


def test_shares_go_right_and_up_inside_the_margins() -> None:
    assert (FRAME.x(0), FRAME.x(1), FRAME.y(0), FRAME.y(1)) == (20, 170, 60, 10)
    drawing = ElementTree.fromstring(str(draw_svg(FRAME, draw("g"), label="a drawing")))
    assert drawing.attrib == {"viewBox": "0 0 200 100", "role": "img", "aria-label": "a drawing"}


def test_axes_have_a_line_and_a_text_at_each_tick() -> None:
    across = [ElementTree.fromstring(str(part)) for part in draw_across(FRAME, [(0.0, "0"), (0.5, "a<b")])]
    assert [(part.tag, part.text) for part in across] == [
        ("line", None),
        ("text", "0"),
        ("line", None),
        ("text", "a<b"),
    ]
    assert (across[2].attrib["y1"], across[2].attrib["y2"], across[2].attrib["class"]) == ("35", "35", "grid")
    below = [ElementTree.fromstring(str(part)) for part in draw_below(FRAME, [(1.0, "10")], "step")]
    assert [(part.text, part.attrib["x"]) for part in below] == [("10", "170"), ("step", "95")]
    assert [part.text[:5] for part in draw_below(FRAME, [(1.0, "10")], grid=True)] == ["<line", "<text"]


def test_a_scale_reaches_from_its_lowest_number_to_its_highest() -> None:
    scale = Scale.around([3.0, 1.0, 2.0])
    assert [scale.share(number) for number in (1.0, 2.0, 3.0)] == [0.0, 0.5, 1.0]
    assert Scale(2.0, 2.0).share(2.0) == 0.5


def test_of_logarithms_every_tenth_is_as_far_down_and_what_has_none_is_at_the_bottom() -> None:
    scale = Scale(0.001, 0.1, is_logarithmic=True)
    assert [scale.share(number) for number in (0.1, 0.01, 0.001)] == pytest.approx([1, 0.5, 0])
    assert scale.share(0.0) == scale.share(-1.0) == scale.share(1e-9) == 0.0


def test_round_numbers_lie_between_both_ends() -> None:
    assert Scale(0.137, 0.412).round_numbers() == pytest.approx([0.2, 0.3, 0.4])
    assert Scale(-3, 11).round_numbers() == pytest.approx([0, 5, 10])
    assert Scale(2.5, 2.5).round_numbers() == [2.5]
    assert Scale(0.004, 0.3, is_logarithmic=True).round_numbers() == pytest.approx([0.005, 0.01, 0.02, 0.05, 0.1, 0.2])
    assert Scale(1e-6, 1.0, is_logarithmic=True).round_numbers() == pytest.approx(
        [10.0**-at for at in range(6, -1, -1)]
    )
    assert Scale(0.0, 1.0).ticks() == [(pytest.approx(at / 5), f"{at / 5:g}") for at in range(6)]


def test_labels_that_would_lie_on_another_go_a_row_down_or_are_left_out() -> None:
    labels = [(0.0, "first"), (10.0, "second"), (20.0, "third"), (90.0, "last")]
    assert list(fit_labels(labels, width=110, letter=10)) == [(0, 0.0, 0), (1, 10.0, 1), (3, 70.0, 0)]


def test_a_long_text_is_cut_with_a_mark() -> None:
    assert (shorten("abcde", 5), shorten("abcdef", 5)) == ("abcde", "abcd…")
