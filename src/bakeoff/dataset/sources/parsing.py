"""Text that others wrote, read in one way: encoding, byte order mark, size, depth and numbers are all checked here.

What does not pass raises ValueError in one line that says what is wrong and what to do; the caller adds the file.
"""

import io
import json
import os
import re
import reprlib
from collections.abc import Iterator
from functools import partial
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from bakeoff.foundation.files import NO_REGULAR_FILE, open_regular, read_regular
from bakeoff.foundation.formatting import as_number

MOST_BYTES = 16_000_000  # of a text that is read as a whole
MOST_IN_LINE = 1_000_000  # characters, of a text that is read line by line
LONGEST_NUMBER = 100  # characters
LARGEST = 1e9  # far above every coordinate, size and number of classes
DEEPEST, MOST_ELEMENTS = 50, 500_000  # of XML
REMEDY = "save it as UTF-8"

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = 80
_ESCAPED = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of bytes that are no UTF-8


def quote(value: object) -> str:
    """Return a value for a message: in one line, harmless to a terminal, and short."""
    return _shortened.repr(value)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    try:
        if not os.path.isfile(path):
            raise ValueError(NO_REGULAR_FILE if os.path.exists(path) else "no such file")
        return read_regular(path, partial(_require_length, most))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}; check its permissions") from None


def _require_length(most: int, length: int) -> None:
    if length > most:
        raise ValueError(f"has {length / 1e6:,.1f} MB, more than the {most / 1e6:,g} MB that are read; divide it")


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return a text as a whole, its lines ended by a line feed."""
    data = read_bytes(path, most)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text, byte {error.start} cannot be read; {REMEDY}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines, with their ends, of a text of any length."""
    try:
        opened = open_regular(path)
        with io.TextIOWrapper(opened, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            for number in count(1):
                line = file.readline(MOST_IN_LINE)
                if not line:
                    return
                if len(line) == MOST_IN_LINE:
                    raise ValueError(f"line {number} has {MOST_IN_LINE:,} characters or more; divide it")
                if not line.isascii() and _ESCAPED.search(line):
                    raise ValueError(f"not UTF-8 text, line {number} cannot be read; {REMEDY}")
                yield line
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}; check its permissions") from None


def parse_number(value: object, what: str, low: float = -LARGEST, high: float = LARGEST) -> float:
    """Return the number that a text, JSON or XML holds, if it is finite and in the range."""
    number: int | float | None = None
    if isinstance(value, str):
        # Python also reads `1_000` and the digits of other scripts; the programs that wrote these files do not.
        if value.isascii() and "_" not in value and len(value) <= LONGEST_NUMBER:
            number = as_number(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = value
    if number is None or (isinstance(number, float) and not isfinite(number)):
        raise ValueError(f"{what} must be a number, got {quote(value)}")
    if not low <= number <= high:
        raise ValueError(f"{what} must be a number between {low:,.0f} and {high:,.0f}, got {quote(value)}")
    return float(number)


def parse_whole(value: object, what: str, low: int = 0, high: float = LARGEST) -> int:
    number = parse_number(value, what, low, high)
    if number != int(number):
        raise ValueError(f"{what} must be a whole number, got {quote(value)}")
    return int(number)


def parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error}; write it again with the program that made it") from None
    except ValueError:  # Python's own limit
        raise ValueError("not valid JSON: a number has thousands of digits; correct it") from None
    except RecursionError:
        raise ValueError("not valid JSON: nested too deeply; write it again with the program that made it") from None


def parse_xml(data: bytes) -> ElementTree.Element:
    """Return the tree of XML that declares no document type, so that nothing in it can unfold or fetch anything."""
    guard, depth, elements = expat.ParserCreate(), 0, 0

    def refuse(*_: object) -> None:
        raise ValueError("declares a document type, which may hide entities that unfold without end; delete that part")

    def begin(*_: object) -> None:
        nonlocal depth, elements
        depth, elements = depth + 1, elements + 1
        if depth > DEEPEST or elements > MOST_ELEMENTS:
            what = (
                f"is nested deeper than {DEEPEST} levels" if depth > DEEPEST else f"has over {MOST_ELEMENTS:,} elements"
            )
            raise ValueError(f"broken XML: line {guard.CurrentLineNumber} {what}; write it again")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    guard.StartDoctypeDeclHandler, guard.StartElementHandler, guard.EndElementHandler = refuse, begin, end
    try:
        guard.Parse(data, True)
        return ElementTree.fromstring(data)
    except (expat.ExpatError, ElementTree.ParseError) as error:
        raise ValueError(f"broken XML: {error}") from None
    except (LookupError, UnicodeError) as error:
        raise ValueError(f"broken XML: {error}; {REMEDY}") from None
