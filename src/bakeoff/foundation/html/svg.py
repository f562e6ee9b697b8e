"""SVG drawings: elements with escaped texts, scales and frames that place a number, axes, and labels in rows.

frame = Frame(440, 300, left=44, right=12, top=12, bottom=40)
str(draw_svg(frame, draw_text(frame.x(0.5), frame.y(1), "a < b")))  # <svg viewBox="0 0 440 300"><text …>a &lt; b</…
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

Tick = tuple[float, str]  # how far along the axis from 0 to 1, and the text there


@dataclass(frozen=True)
class Element:
    """Markup, which templates take as it is."""

    text: str

    def __str__(self) -> str:
        return self.text

    __html__ = __str__


def draw(tag: str, *children: Element | str, **attributes: object) -> Element:
    """Make an element. `class_` stands for class, `text_anchor` for text-anchor; None leaves an attribute out."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_write(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(child.text if isinstance(child, Element) else escape(child, quote=False) for child in children)
    return Element(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")


def draw_text(x: float, y: float, text: str, *, anchor: str | None = None, title: str = "", **more: object) -> Element:
    """`anchor` is middle or end; `title` shows when the pointer rests on the text."""
    children = [text, draw("title", title)] if title else [text]
    return draw("text", *children, x=x, y=y, text_anchor=anchor, **more)


def draw_line(x1: float, y1: float, x2: float, y2: float, **more: object) -> Element:
    return draw("line", x1=x1, x2=x2, y1=y1, y2=y2, **more)


def draw_polyline(points: Iterable[tuple[float, float]], *children: Element, **more: object) -> Element:
    return draw("polyline", *children, points=" ".join(f"{_write(x)},{_write(y)}" for x, y in points), **more)


def draw_dots(points: Iterable[tuple[float, float]], *children: Element, **more: object) -> Element:
    """Make one path of strokes without a length, which a round line cap makes dots."""
    return draw("path", *children, d="".join(f"M{_write(x)} {_write(y)}h0" for x, y in points), **more)


@dataclass(frozen=True)
class Frame:
    """A drawing of so many pixels with margins, inside of which shares from 0 to 1 go right and up."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    def x(self, share: float) -> float:
        return self.left + (self.width - self.left - self.right) * share

    def y(self, share: float) -> float:
        return self.height - self.bottom - (self.height - self.top - self.bottom) * share


def draw_svg(frame: Frame, *children: Element, label: str | None = None, **more: object) -> Element:
    """`label` is what those hear who do not see."""
    role = None if label is None else "img"
    box = f"0 0 {_write(frame.width)} {_write(frame.height)}"
    return draw("svg", *children, viewBox=box, role=role, aria_label=label, **more)


def draw_across(frame: Frame, ticks: Iterable[Tick]) -> list[Element]:
    """Draw the axis that goes up: a grid line at each tick, its text on the left."""
    rows = []
    for share, name in ticks:
        y = frame.y(share)
        rows.append(draw_line(frame.x(0), y, frame.x(1), y, class_="grid"))
        rows.append(draw_text(frame.x(0) - 7, y, name, anchor="end", dy=4))
    return rows


def draw_below(frame: Frame, ticks: Iterable[Tick], label: str = "", *, grid: bool = False) -> list[Element]:
    """Draw the axis that goes right: texts below the ticks, what it is below these, and grid lines if asked for."""
    rows = []
    for share, name in ticks:
        x = frame.x(share)
        if grid:
            rows.append(draw_line(x, frame.y(1), x, frame.y(0), class_="grid"))
        rows.append(draw_text(x, frame.y(0) + 17, name, anchor="middle"))
    return [*rows, draw_text(frame.x(0.5), frame.height - 7, label, anchor="middle")] if label else rows


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` as shares from 0 to 1: as they are, or by their logarithm."""

    low: float
    high: float
    is_logarithmic: bool = False

    @classmethod
    def around(cls, numbers: Iterable[float]) -> "Scale":
        known = list(numbers)
        return cls(min(known), max(known))

    def share(self, number: float) -> float:
        """The middle if there is but one number; the bottom for what has no logarithm."""
        if self.high <= self.low:
            return 0.5
        if not self.is_logarithmic:
            return (number - self.low) / (self.high - self.low)
        low, high = math.log10(self.low), math.log10(self.high)
        return max(0.0, (math.log10(number) - low) / (high - low)) if number > 0 else 0.0

    def round_numbers(self, most: int = 5) -> list[float]:
        """Between both ends, at most so many steps of 1, 2 or 5 times a power of ten; of logarithms all such numbers,
        or where there are many the powers alone."""
        if self.high <= self.low:
            return [self.low]
        if self.is_logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1, 2, 5) if len(powers) <= 4 else (1,)
            numbers = [factor * 10.0**power for power in powers for factor in factors]
            return [number for number in numbers if self.low <= number <= self.high]
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
        step = next(power * factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (power * factor) <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def ticks(self) -> list[Tick]:
        return [(self.share(number), f"{number:.6g}") for number in self.round_numbers()]


def fit_labels(labels: Sequence[tuple[float, str]], *, width: float, letter: float) -> Iterator[tuple[int, float, int]]:
    """Place labels from left to right: yield the number of each, where it begins, and in which of two rows.

    `labels` are (where it should begin, text). One that would lie on another goes a row down, or is left out. `letter`
    is about the width of a letter; none ends beyond `width`.
    """
    ends = [-math.inf] * 2
    for number, (wanted, text) in enumerate(labels):
        start = min(wanted, width - letter * len(text))
        row = next((row for row, end in enumerate(ends) if end <= start), None)
        if row is not None:
            ends[row] = start + letter * (len(text) + 1)
            yield number, start, row


def _write(value: object) -> str:
    """A tenth of a pixel is as fine as anybody sees."""
    return f"{round(value, 1) + 0.0:.7g}" if isinstance(value, float) else escape(str(value))
