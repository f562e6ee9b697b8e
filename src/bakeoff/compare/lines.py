"""A table as text: a row for each run, or a column for each where that fits better; and as Markdown."""

import textwrap
from collections.abc import Sequence

from bakeoff.compare.table import METRIC, Cell, Column, Table

LONGEST_CELL = 28
BEST = "*"
MOST_SIDE_BY_SIDE = 6
APART = "  "


def lines(table: Table, width: int | None) -> list[str]:
    """At most `width` wide: what has no room is named below."""
    rows = _rows(table.columns)
    if width is None or _width(rows) <= width:
        return _aligned(rows)
    if len(table.contenders) <= MOST_SIDE_BY_SIDE:
        turned = [list(row) for row in zip(*rows, strict=True)]
        if _width(turned) <= width:
            return _aligned(turned)
    kept = list(table.columns[:1])
    for column in sorted(table.columns[1:], key=lambda column: column.rank):
        if _width(_rows([*kept, column])) <= width:
            kept.append(column)
    shown = [column for column in table.columns if column in kept]
    left = [column.name for column in table.columns if column not in kept]
    words = f"no room for: {', '.join(left)} (--html and --json have them)"
    return [*_aligned(_rows(shown)), *wrapped(words, width)]


def markdown(table: Table) -> list[str]:
    heads = [f"| {' | '.join(_escaped(column.name) for column in table.columns)} |"]
    heads.append("|" + "|".join("---:" if column.is_number else "---" for column in table.columns) + "|")
    rows = []
    for at in range(len(table.contenders)):
        cells = [column.cells[at] for column in table.columns]
        rows.append(f"| {' | '.join(_strong(cell) for cell in cells)} |")
    return [*heads, *rows]


def _rows(columns: Sequence[Column]) -> list[list[str]]:
    drawn = [[_cut(column.name), *_texts(column)] for column in columns]
    return [list(row) for row in zip(*drawn, strict=True)]


def _texts(column: Column) -> list[str]:
    """The mark stands right behind the number, and where there is none a blank, so that numbers stay in line."""
    if not any(cell.is_best for cell in column.cells):
        return [_cut(cell.text) for cell in column.cells]
    marked = []
    for cell in column.cells:
        value, blank, rest = cell.text.partition(" ")
        mark = BEST if cell.is_best else " "
        marked.append(f"{value}{mark}{blank}{rest}" if column.kind == METRIC else f"{cell.text}{mark}")
    return marked


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) + len(APART) * (len(rows[0]) - 1)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [APART.join(f"{word:{wide}}" for word, wide in zip(row, widths, strict=True)).rstrip() for row in rows]


def wrapped(text: str, width: int | None) -> list[str]:
    return [text] if width is None else textwrap.wrap(text, width, subsequent_indent="  ")


def _strong(cell: Cell) -> str:
    text = _escaped(cell.text)
    return f"**{text}**" if cell.is_best else text


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
