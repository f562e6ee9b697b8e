"""Tables that fit the terminal: what has no room is folded, left out by name, or cut; nothing is, through a pipe."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

from bakeoff.foundation.formatting import align, shorten
from bakeoff.foundation.progress import print_line

APART, INDENT = 2, "    "
NO_BREAK = "\N{NO-BREAK SPACE}"
LEAST = 12  # characters that a column keeps

Row = tuple[str, ...]


def terminal_width() -> int | None:
    """Return None through a pipe, unless somebody says how wide it is."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def print_folded(rows: Iterable[tuple[str, str]]) -> None:
    """Say names and what there is to them, which goes on in the next line where it is long."""
    for line in fold(rows, terminal_width()):
        print_line(line)


def print_wrapped(text: str) -> None:
    """Say a sentence that can be long."""
    width = terminal_width()
    for line in [text] if width is None else wrap(text, width, hanging=INDENT):
        print_line(line)


def print_fitted(rows: Iterable[Row], *, less: Sequence[str] = (), narrow: str) -> None:
    for line in fit(rows, terminal_width(), less=less, narrow=narrow):
        print_line(line)


def fold(rows: Iterable[tuple[str, str]], width: int | None) -> list[str]:
    rows = list(rows)
    if width is None:
        return align(rows)
    names = max(len(name) for name, _ in rows) + APART
    lines: list[str] = []
    for name, text in rows:
        parts = _wrap_at_commas(text, max(LEAST, width - names))
        lines += [f"{'' if at else name:{names}}{part}".rstrip() for at, part in enumerate(parts)]
    return lines


def fit(
    rows: Iterable[Row], width: int | None, *, less: Sequence[str] = (), narrow: str, is_cut: bool = False
) -> list[str]:
    """Lay out rows, the first of which are the names of the columns, `width` wide at most.

    A last column without a name is a remark, which stands below its row if there is no room beside it. Then columns go,
    in the order of `less`, and are named in the last line. What is too wide still is folded in the column `narrow`, or
    cut, which suits names that mean nothing by their ends.
    """
    head, *body = rows
    if width is None or _width([head, *body]) <= width:
        return align([head, *body])
    remarks = [""] * len(body)
    if not head[-1]:
        head, remarks = head[:-1], [row[-1] for row in body]
        body = [row[:-1] for row in body]
    gone = []
    for name in less:
        if _width([head, *body]) > width and name in head:
            at = head.index(name)
            head, *body = ((*row[:at], *row[at + 1 :]) for row in (head, *body))
            gone.append(name)
    parts = [[row] for row in body]
    if (over := _width([head, *body]) - width) > 0:
        at = head.index(narrow)
        most = max(LEAST, max(len(row[at]) for row in (head, *body)) - over)
        parts = [_narrowed(row, at, most, is_cut=is_cut) for row in body]
    first, *laid = align([head, *(row for several in parts for row in several)])
    lines = [first]
    for several, remark in zip(parts, remarks, strict=True):
        lines += [*laid[: len(several)], *wrap(remark, width, indent=INDENT)]
        del laid[: len(several)]
    return [*lines, *(wrap(f"no room for: {', '.join(gone)}", width) if gone else [])]


def _narrowed(row: Row, at: int, most: int, *, is_cut: bool) -> list[Row]:
    """Return the row with a cell that is cut, or that goes on in rows below it."""
    if is_cut:
        return [(*row[:at], shorten(row[at], most), *row[at + 1 :])]
    first, *others = wrap(row[at], most) or [""]
    blank = ("",) * len(row)
    return [(*row[:at], first, *row[at + 1 :]), *((*blank[:at], part, *blank[at + 1 :]) for part in others)]


def wrap(text: str, width: int, *, indent: str = "", hanging: str = "") -> list[str]:
    """Break lines between words; `hanging` stands before all but the first."""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + hanging, break_on_hyphens=False)


def _wrap_at_commas(text: str, width: int) -> list[str]:
    """Keep together what stands between two commas, such as a number and its unit, unless it is longer than a line."""
    parts = text.split(", ")
    kept = ", ".join(part.replace(" ", NO_BREAK) if len(part) < width else part for part in parts)
    return [line.replace(NO_BREAK, " ") for line in wrap(kept, width)] or [""]


def _width(rows: Sequence[Row]) -> int:
    """Of the table as `align` makes it: a blank at the end of a line takes no room."""
    return max(map(len, align(rows)))
