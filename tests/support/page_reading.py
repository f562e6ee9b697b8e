"""A page as those read it who do not see it: landmarks, headings, names of pictures, tables; and its colours."""

import re
from html.parser import HTMLParser
from itertools import pairwise

from bakeoff.foundation.html.template import FOLDER, STYLE

VOID = ("meta", "img", "br", "link", "input")


class Outline(HTMLParser):
    """What a screen reader makes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.mains = 0
        self.headings: list[int] = []
        self.unnamed: list[str] = []  # pictures without words
        self.headless: list[str] = []  # headings of columns without words, and tables without any
        self._open: list[str] = []
        self._words = ""
        self._has_head = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "main":
            self.mains += 1
        elif re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        elif tag == "img" and not given.get("alt"):
            self.unnamed.append(str(attributes)[:80])
        elif tag == "svg" and not (given.get("role") == "img" and given.get("aria-label")):
            self.unnamed.append(f"svg {given}")
        elif tag == "th":
            self._words, self._has_head = "", True
            if given.get("scope") not in ("col", "row"):
                self.headless.append(f"th without a scope: {given}")
        elif tag == "table":
            self._has_head = False

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_data(self, data: str) -> None:
        self._words += data.strip()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes nothing"
        if tag == "th" and not self._words:
            self.headless.append("th without words")
        elif tag == "table" and not self._has_head:
            self.headless.append("a table without headings")


def defects_of(page: str) -> list[str]:
    outline = Outline(page)
    defects = [] if outline.mains == 1 else [f"{outline.mains} main"]
    levels = outline.headings
    if levels[:1] != [1] or levels.count(1) != 1:
        defects.append(f"one h1 has to come first, got {levels}")
    defects += [f"h{after} after h{before}" for before, after in pairwise(levels) if after > before + 1]
    return [*defects, *outline.unnamed, *outline.headless]


def colours(scheme: str) -> dict[str, str]:
    """The style's colours by their names: light, dark, print, or one of the first two for eyes that need contrast."""
    style = (FOLDER / STYLE).read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    light, dark, more, more_in_dark, paper = (dict(re.findall(r"--([\w-]+): ([^;]+?) *(?:;|$)", one)) for one in blocks)
    added: dict[str, tuple[dict[str, str], ...]] = {
        "light": (), "dark": (dark,), "print": (paper,), "light, contrast": (more,),
        "dark, contrast": (dark, more, more_in_dark),
    }  # fmt: skip
    named = dict(light)
    for one in added[scheme]:
        named |= one
    return named


def channels(colour: str) -> tuple[float, float, float]:
    if not colour.startswith("#"):  # 74 123 208
        red, green, blue = map(float, colour.split())
        return red, green, blue
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    red, green, blue = (float(int(digits[at : at + 2], 16)) for at in (0, 2, 4))
    return red, green, blue


def blended(colour: str, share: float, below: str) -> tuple[float, float, float]:
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(channels(colour), channels(below), strict=True))
    return red, green, blue


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """By WCAG 2: from 1, the same, to 21, black on white."""
    first, second = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def _luminance(colour: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if (c := value / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
