"""Rows of words as aligned columns on the screen."""

from collections.abc import Iterable

from bakeoff.progress import say


def say_columns(rows: Iterable[tuple[str, ...]]) -> None:
    for line in columns(rows):
        say(line)


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Each column as wide as its widest word, the last as it comes."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
