"""Lines of protobuf text format, from the inside out: `block("matcher", block("argmax_matcher", field("x", 0.5)))`."""

import textwrap
from collections.abc import Iterable

Lines = list[str]
WIDTH = 100
INDENT = "  "
DIGITS = 9


class Word(str):
    """An enum's value: written without quotes."""


def field(name: str, value: bool | int | float | str) -> Lines:
    return [f"{name}: {_shown(value)}"]


def fields(name: str, values: Iterable[int | float | str]) -> Lines:
    """A repeated field, one line a value."""
    return [line for value in values for line in field(name, value)]


def block(name: str, *parts: Lines) -> Lines:
    inner = [line for part in parts for line in part]
    if not inner:
        return [f"{name} {{", "}"]
    return [f"{name} {{", *(f"{INDENT}{line}" for line in inner), "}"]


def inline(name: str, *parts: Lines) -> Lines:
    """A block on one line."""
    return [f"{name} {{ {' '.join(line for part in parts for line in part)} }}"]


def comment(text: str) -> Lines:
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), WIDTH)]


def document(*parts: Lines) -> str:
    """Parts with a blank line between them."""
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def rounded(number: float) -> float:
    """Without the last digits that arithmetic leaves behind."""
    return round(number, DIGITS)


def _shown(value: bool | int | float | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    return repr(value)  # the shortest digits that give the same number again; inf and nan are text format too


def _quoted(text: str) -> str:
    """In double quotes, on one line; other letters than ASCII stay as they are."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    plain = "".join(letter if letter.isprintable() else "".join(f"\\{byte:03o}" for byte in letter.encode())
                    for letter in escaped)  # fmt: skip
    return f'"{plain}"'
