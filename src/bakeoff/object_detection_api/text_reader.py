"""Protobuf text format -> a tree of fields with their lines, whatever the fields mean.

    optimizer { momentum_optimizer: { momentum_optimizer_value: 0.9 } }

becomes Field("optimizer", Message((Field("momentum_optimizer", ...),))). `{}` and `<>`, with and without a colon,
lists `[1, 2]`, strings in pieces and `,` or `;` between fields all mean what they mean to protobuf's own parser.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bakeoff.object_detection_api.tokens import Kind, SyntaxMistake, Token, tokens

MAX_DEPTH = 64  # blocks inside one another; the deepest of that API's own files has 9
CLOSING = {"{": "}", "<": ">"}


@dataclass(frozen=True)
class Scalar:
    kind: Kind  # NUMBER, WORD (an enum's name, true, inf) or TEXT
    text: str  # of numbers and words with the sign


@dataclass(frozen=True)
class Message:
    fields: "tuple[Field, ...]"


@dataclass(frozen=True)
class Field:
    name: str
    value: "Value"
    line: int
    listed: bool = False  # one of a list in brackets


Value: TypeAlias = Scalar | Message | None  # None: of an empty list


def read(source: str) -> Message:
    """The whole text; raises SyntaxMistake with the line where it stops to make sense."""
    reader = _Reader(tokens(source))
    fields = reader.fields(None, depth=0)
    return Message(fields)


class _Reader:
    def __init__(self, source: Iterator[Token]) -> None:
        self._source = source
        self._next = next(source)

    def fields(self, opened: Token | None, *, depth: int) -> tuple[Field, ...]:
        """All fields up to the mark that closes the block, or to the end."""
        closing = CLOSING[opened.text] if opened else None
        found: list[Field] = []
        while not (self._next.kind is Kind.END and opened is None):
            if self._next.kind is Kind.END and opened:
                raise SyntaxMistake(self._next.line, f"the block opened in line {opened.line} is never closed")
            if self._next.kind is Kind.MARK and self._next.text == closing:
                self._take()
                break
            found += self._field(depth)
            if self._at(",") or self._at(";"):
                self._take()
        return tuple(found)

    def _field(self, depth: int) -> list[Field]:
        name = self._take()
        if name.kind is not Kind.WORD:
            raise SyntaxMistake(name.line, f"a field's name must stand here, got {name.shown}")
        colon = self._at(":")
        if colon:
            self._take()
        if self._at("{") or self._at("<"):
            return [Field(name.text, self._message(depth), name.line)]
        if not colon and not (self._at("[")):
            raise SyntaxMistake(self._next.line, f"after {name.text!r} must stand : or {{, got {self._next.shown}")
        if self._at("["):
            return self._list(name.text, depth, blocks_only=not colon)
        return [Field(name.text, self._scalar(), name.line)]

    def _list(self, name: str, depth: int, *, blocks_only: bool) -> list[Field]:
        opened = self._take()
        found: list[Field] = []
        while not self._at("]"):
            if found:
                self._expect(",", f"between the values of a list (opened in line {opened.line})")
            line = self._next.line
            is_block = self._at("{") or self._at("<")
            if blocks_only and not is_block:
                raise SyntaxMistake(line, f"after {name!r} must stand : before a list of plain values")
            found.append(Field(name, self._message(depth) if is_block else self._scalar(), line, listed=True))
        self._take()
        return found or [Field(name, None, opened.line, listed=True)]

    def _message(self, depth: int) -> Message:
        opened = self._take()
        if depth >= MAX_DEPTH:
            raise SyntaxMistake(opened.line, f"blocks must not be nested deeper than {MAX_DEPTH}")
        return Message(self.fields(opened, depth=depth + 1))

    def _scalar(self) -> Scalar:
        sign = ""
        if self._at("-"):
            sign = self._take().text
        token = self._take()
        if token.kind is Kind.TEXT and not sign:
            pieces = [token.text]
            while self._next.kind is Kind.TEXT:
                pieces.append(self._take().text)
            return Scalar(Kind.TEXT, "".join(pieces))
        if token.kind in (Kind.NUMBER, Kind.WORD):
            return Scalar(token.kind, sign + token.text)
        raise SyntaxMistake(token.line, f"a value must stand here, got {token.shown}")

    def _at(self, mark: str) -> bool:
        return self._next.kind is Kind.MARK and self._next.text == mark

    def _expect(self, mark: str, where: str) -> None:
        token = self._take()
        if token.kind is not Kind.MARK or token.text != mark:
            raise SyntaxMistake(token.line, f"{where} must stand {mark!r}, got {token.shown}")

    def _take(self) -> Token:
        taken = self._next
        if taken.kind is not Kind.END:
            self._next = next(self._source)
        return taken
