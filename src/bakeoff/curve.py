"""A curve over the steps of a run, as an SVG picture whose bytes depend on nothing but the curve."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 320
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 56, 46
INK, FAINT, LINE, MARK = "#222222", "#dddddd", "#1f6fb2", "#b2551f"
FONT = "font-family='sans-serif' font-size='12'"
TICKS = 5
LETTER = 6.5  # pixels of a letter of a mark, about
ROWS_OF_MARKS = 2
MOST_DECADES = 8  # what is smaller lies at the bottom


@dataclass(frozen=True)
class Mark:
    step: int
    text: str


def curve_svg(
    title: str, points: Sequence[tuple[int, float]], marks: Sequence[Mark], *, steps: int, decades: bool = False
) -> str:
    """Points are (step, value) in order; marks are lines across with a word above.

    With `decades` every tenth of a value is as far down as the one before, and 0 is at the bottom.
    """
    scale = _Decades.of(points) if decades else _Even.of(points)

    def x(step: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * step / max(1, steps):.1f}"

    def y(value: float) -> str:
        return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * scale.share(value):.1f}"

    rows = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        f"<text x='{LEFT}' y='18' {FONT} font-weight='bold' fill='{INK}'>{escape(title)}</text>",
    ]
    for value in scale.ticks():
        rows += [
            f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y(value)}' y2='{y(value)}' stroke='{FAINT}'/>",
            f"<text x='{LEFT - 8}' y='{y(value)}' dy='4' text-anchor='end' {FONT} fill='{INK}'>{value:.3g}</text>",
        ]
    for step in (round(steps * number / TICKS) for number in range(TICKS + 1)):
        rows.append(
            f"<text x='{x(step)}' y='{HEIGHT - BOTTOM + 18}' text-anchor='middle' {FONT} fill='{INK}'>{step:,}</text>"
        )
    rows += [*_drawn(marks, x), f"<text x='{x(steps / 2)}' y='{HEIGHT - 8}' text-anchor='middle' {FONT}>step</text>"]
    path = " ".join(f"{x(step)},{y(value)}" for step, value in points)
    rows.append(f"<polyline points='{path}' fill='none' stroke='{LINE}' stroke-width='2'/>")
    return "\n".join([*rows, "</svg>"]) + "\n"


@dataclass(frozen=True)
class _Even:
    top: float

    @classmethod
    def of(cls, points: Sequence[tuple[int, float]]) -> "_Even":
        return cls(_nice(max((value for _, value in points), default=0.0)))

    def share(self, value: float) -> float:
        """How far up, 0 to 1."""
        return value / self.top

    def ticks(self) -> list[float]:
        return [self.top * number / TICKS for number in range(TICKS + 1)]


@dataclass(frozen=True)
class _Decades:
    low: int  # powers of ten
    high: int

    @classmethod
    def of(cls, points: Sequence[tuple[int, float]]) -> "_Decades":
        logarithms = [math.log10(value) for _, value in points if value > 0] or [0.0]
        high = math.ceil(max(logarithms) - 1e-9)
        return cls(max(high - MOST_DECADES, min(high - 1, math.floor(min(logarithms) + 1e-9))), high)

    def share(self, value: float) -> float:
        up = math.log10(value) - self.low if value > 0 else 0.0
        return max(0.0, up / (self.high - self.low))

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def _drawn(marks: Sequence[Mark], x: Callable[[float], str]) -> list[str]:
    """Each a dashed line; words that would lie on another go a row down or are left out."""
    ends = [0.0] * ROWS_OF_MARKS
    rows = []
    for mark in marks:
        at = x(mark.step)
        rows.append(
            f"<line x1='{at}' x2='{at}' y1='{TOP - 4}' y2='{HEIGHT - BOTTOM}' stroke='{MARK}' stroke-dasharray='3 3'/>"
        )
        width = LETTER * len(mark.text)
        start = min(float(at), WIDTH - width)
        free = next((row for row, end in enumerate(ends) if end <= start), None)
        if free is not None:
            ends[free] = start + width + LETTER
            rows.append(
                f"<text x='{start:.1f}' y='{TOP - 20 + 13 * free}' {FONT} fill='{MARK}'>{escape(mark.text)}</text>"
            )
    return rows


def _nice(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten: five ticks below it are round."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * (1 - 1e-9))
