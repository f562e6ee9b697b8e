"""Bytes, seconds and lists of names as text."""

from collections.abc import Sequence


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


def format_clock(seconds: int) -> str:
    """1:05, 2:03:04."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def format_names(names: Sequence[str], most: int, between: str = ", ") -> str:
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
