"""Charts as SVG elements of the page, in its colours: numbers from 0 to 1 over numbers from 0 to 1, and bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 40
COLOURS = 10  # --c0 to --c9 of the page
NAMED = 12  # lines in a legend


@dataclass(frozen=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]
    strong: bool = False  # in ink instead of a colour
    dots: bool = False


def line_chart(x_label: str, y_label: str, lines: Sequence[Line], *, at: float | None = None) -> str:
    """`at`: a dashed line up from there."""
    rows = [f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='{_quoted(y_label)} over {_quoted(x_label)}'>"]
    rows += _grid(x_label, y_label)
    if at is not None:
        rows.append(f"<line class=mark x1='{_x(at)}' x2='{_x(at)}' y1='{TOP}' y2='{_y(0)}'/>")
    for number, line in enumerate(lines):
        path = " ".join(f"{_x(x)},{_y(y)}" for x, y in line.points)
        style = "class='line strong'" if line.strong else f"class=line style='stroke:var(--c{number % COLOURS})'"
        rows.append(f"<polyline points='{path}' {style}><title>{escape(line.name)}</title></polyline>")
        if line.dots:
            rows += [f"<circle class=dot cx='{_x(x)}' cy='{_y(y)}' r='3.5'/>" for x, y in line.points]
    return "".join([*rows, "</svg>", _legend(lines)])


def diagonal() -> Line:
    return Line("as it should be", [(0.0, 0.0), (1.0, 1.0)])


def bar(share: float, text: str) -> str:
    """Table cells: a number and a bar of that share of its cell."""
    drawn = f"<span class=bar style='width:{max(0.0, min(1.0, share)) * 100:.1f}%'></span>" if share > 0 else ""
    return f"<td class=n>{escape(text)}<td class=track>{drawn}"


def span(value: float, low: float, high: float) -> str:
    """A number on a scale from 0 to 1 with its interval."""
    left, width = min(low, 1) * 100, max(0.0, min(high, 1) - min(low, 1)) * 100
    return (
        "<div class=scale aria-hidden=true>"
        f"<span class=range style='left:{left:.1f}%;width:{width:.1f}%'></span>"
        f"<span class=point style='left:{min(value, 1) * 100:.1f}%'></span></div>"
    )


def _grid(x_label: str, y_label: str) -> list[str]:
    rows = []
    for step in range(6):
        share = step / 5
        rows += [
            f"<line class=grid x1='{_x(share)}' x2='{_x(share)}' y1='{TOP}' y2='{_y(0)}'/>",
            f"<line class=grid x1='{LEFT}' x2='{_x(1)}' y1='{_y(share)}' y2='{_y(share)}'/>",
            f"<text x='{_x(share)}' y='{HEIGHT - BOTTOM + 16}' text-anchor=middle>{share:g}</text>",
            f"<text x='{LEFT - 7}' y='{_y(share)}' dy=4 text-anchor=end>{share:g}</text>",
        ]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return [
        *rows,
        f"<text x='{_x(0.5)}' y='{HEIGHT - 6}' text-anchor=middle>{escape(x_label)}</text>",
        f"<text x='12' y='{middle}' text-anchor=middle transform='rotate(-90 12 {middle})'>{escape(y_label)}</text>",
    ]


def _legend(lines: Sequence[Line]) -> str:
    if len(lines) < 2:
        return ""
    names = []
    for number, line in enumerate(lines[:NAMED]):
        colour = "var(--ink)" if line.strong else f"var(--c{number % COLOURS})"
        names.append(f"<span><i style='background:{colour}'></i>{escape(line.name)}</span>")
    if len(lines) > NAMED:
        names.append(f"<span class=soft>and {len(lines) - NAMED} more: rest the pointer on a line</span>")
    return f"<div class=legend>{''.join(names)}</div>"


def _x(share: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * share:.1f}"


def _y(share: float) -> str:
    return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share:.1f}"


def _quoted(text: str) -> str:
    return escape(text, quote=True)
