"""texts/*.yaml: what the code does not say itself, or not to somebody who never saw it."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bakeoff.foundation.errors import ConfigError

FOLDER = Path(__file__).resolve().parent / "texts"


@cache
def read_texts(name: str) -> dict[str, Any]:
    """Return the texts of a page."""
    texts: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return texts


def require_text(text: str | None, what: str, remedy: str) -> str:
    """Return the text; refuse to write a page without it."""
    if not text:
        raise ConfigError(f"{what}: has no text that says what it is; write {remedy}")
    return text


def make_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown, with an empty line after it."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines) + "\n"


def as_sentence(text: str) -> str:
    """Return it with a capital, unless it begins with a name such as mAP."""
    return text if text[1:2].isupper() else text[:1].upper() + text[1:]
