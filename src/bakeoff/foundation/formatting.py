"""Bytes, seconds, lists of names and tables as text, and text as numbers."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")  # does something to a terminal


def format_size(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"


def format_duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    if minutes < 100:
        return f"{minutes:.0f} minutes"
    hours = minutes / 60
    return f"{hours:.1f} hours" if hours < 100 else f"{hours / 24:.0f} days"


def format_clock(seconds: float) -> str:
    """Return 1:05 or 2:03:04."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def as_number(value: Any) -> float | None:
    """Return the number that a text stands for; None if it stands for none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def make_printable(name: str) -> str:
    """Return the name so that it does nothing to a terminal or a page."""
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", name)


def shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def format_count(count: int, noun: str) -> str:
    """Return `1 box`, `2 boxes` or `1,000 runs`."""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith(('s', 'x')) else 's'}"


def format_names(names: Sequence[str], most: int, between: str = ", ") -> str:
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def align(rows: Iterable[Sequence[str]]) -> list[str]:
    """Make each column as wide as its widest cell, the last as it comes."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def without_secrets(text: str) -> str:
    """Return a text without the names and passwords of the addresses in it, and without the keys of their queries."""
    text = re.sub(r"(\w+://)[^/\s]+@", r"\1", text)
    return re.sub(r"(?i)([?&][\w-]*(?:key|pass|password|secret|sig|signature|token)=)[^&\s]+", r"\1…", text)
