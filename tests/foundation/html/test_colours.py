"""The style's colours, by the formula of WCAG 2.2: texts stand out by 4.5 to 1, lines of drawings by 3 to 1."""

import pytest

from bakeoff.foundation.html.template import FOLDER, STYLE
from support.page_reading import blended, channels, colours, contrast

SCHEMES = ("light", "dark", "print", "light, contrast", "dark, contrast")


def test_the_formula_gives_what_the_standard_says() -> None:
    assert contrast(channels("#fff"), channels("#000")) == pytest.approx(21)
    assert contrast(channels("#777777"), channels("#fff")) == pytest.approx(4.48, abs=0.01)  # the known near miss


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", ["paper", "card"])
@pytest.mark.parametrize("text", ["ink", "soft", "right", "wrong"])
def test_texts_stand_out(text: str, ground: str, scheme: str) -> None:
    known = colours(scheme)
    assert contrast(channels(known[text]), channels(known[ground])) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("cell", ["same-rgb", "other-rgb"])
@pytest.mark.parametrize("share", [0.12, 0.42, 0.72])  # as the template shades a share of none, half and all
def test_counts_of_a_confusion_matrix_stand_out_from_their_shading(share: float, cell: str, scheme: str) -> None:
    known = colours(scheme)
    assert contrast(channels(known["ink"]), blended(known[cell], share, known["paper"])) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lines_and_marks_stand_out(scheme: str) -> None:
    known = colours(scheme)
    lines = [f"c{number}" for number in range(10)] + ["bar", "best", "undone"]
    weak = {name: round(contrast(channels(known[name]), channels(known["paper"])), 2) for name in lines}
    assert not {name: value for name, value in weak.items() if value < 3}


def test_every_colour_of_a_text_is_one_of_those_that_were_looked_at() -> None:
    """Words over pictures have a dark seam of their own."""
    style = (FOLDER / STYLE).read_text(encoding="utf-8").partition("/* Examples. */")[0]
    named = {
        line.partition("color: ")[2].partition(";")[0].rstrip(" }") for line in style.splitlines() if " color: " in line
    }
    assert named <= {f"var(--{name})" for name in ("ink", "soft", "right", "wrong")} | {"inherit"}
