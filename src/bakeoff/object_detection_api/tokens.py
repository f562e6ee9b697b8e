"""Protobuf text format -> tokens, each with its line.

`alpha: .25  # of focal loss` becomes WORD alpha, MARK :, NUMBER .25.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

MAX_SHOWN = 40  # characters of the file that a message repeats
MAX_WORD = 200  # the longest of that API has 45
ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"?])|([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|\\"
)
SIMPLE = dict(zip("abfnrtv\\'\"?", "\a\b\f\n\r\t\v\\'\"?", strict=True))


class Kind(Enum):
    WORD = "a word"
    NUMBER = "a number"
    TEXT = "a text"
    MARK = "a mark"
    END = "the end of the file"


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str  # of a TEXT: what stands between the quotes, escapes resolved
    line: int

    @property
    def shown(self) -> str:
        return self.kind.value if self.kind is Kind.END else repr(self.text[:MAX_SHOWN])


class SyntaxMistake(Exception):
    def __init__(self, line: int, reason: str) -> None:
        self.line, self.reason = line, reason
        super().__init__(f"{line}: {reason}")


# A number may be followed by `f`, but not by other letters: `12abc` is one wrong token, not two right ones.
# Its parts give nothing back (`++`), or a million digits before a letter would be tried in a million million ways.
TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r\f\v]+|\#[^\n]*)
  | (?P<newline>\n)
  | (?P<number>(?:0[xX][0-9a-fA-F]++|(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+[fF]?+)(?![\w.]))
  | (?P<word>[A-Za-z_]\w*)
  | (?P<text>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')
  | (?P<mark>[{}<>\[\]:,;.\-/])
    """,
    re.VERBOSE | re.ASCII,
)
KINDS = {"number": Kind.NUMBER, "word": Kind.WORD, "text": Kind.TEXT, "mark": Kind.MARK}


def tokens(source: str) -> Iterator[Token]:
    """All tokens, and END at last."""
    line, place = 1, 0
    while place < len(source):
        found = TOKEN.match(source, place)
        if found is None:
            raise SyntaxMistake(line, _why_not(source, place))
        place = found.end()
        name = found.lastgroup or ""
        if name == "newline":
            line += 1
        elif name in KINDS:
            if name == "word" and len(found[0]) > MAX_WORD:
                raise SyntaxMistake(line, f"a name must have at most {MAX_WORD} letters, got {found[0][:MAX_SHOWN]}…")
            text = _unquoted(found[0], line) if name == "text" else found[0]
            yield Token(KINDS[name], text, line)
    yield Token(Kind.END, "", line)


def _why_not(source: str, place: int) -> str:
    rest = source[place:].split("\n", 1)[0][:MAX_SHOWN]
    if rest[0] in "\"'":
        return f"a text must end on its line with {rest[0]}, got {rest}"
    if rest[0].isdigit() or rest[0] == ".":
        return f"not a number: {rest.split()[0]!r}"
    return f"no such sign in text format: {rest[0]!r}"


def _unquoted(quoted: str, line: int) -> str:
    """Escapes of single bytes spell UTF-8, as protobuf has it."""

    def resolved(found: re.Match[str]) -> str:
        simple, octal, hexadecimal, short, long = found.groups()
        if simple:
            return SIMPLE[simple]
        code = int(octal, 8) if octal else int(hexadecimal or short or long or "-1", 16)
        if code < 0 or code > 0x10FFFF or (octal and code > 0xFF) or 0xD800 <= code < 0xE000:
            raise SyntaxMistake(line, f"no such escape in a text: {quoted[found.start() + 2 : -1][:MAX_SHOWN]!r}")
        # A byte above 127 is kept apart as a lone surrogate until all bytes of its letter are there.
        single_byte = not (short or long) and code > 0x7F
        return chr(0xDC00 + code) if single_byte else chr(code)

    text = ESCAPE.sub(resolved, quoted[1:-1])
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeDecodeError:
        raise SyntaxMistake(line, f"a text must be UTF-8, got {quoted[:MAX_SHOWN]}") from None
