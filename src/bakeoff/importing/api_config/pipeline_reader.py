"""The text of a pipeline.config -> protobuf's message and the place of each field, or every mistake at once.

text_format.Parse reads the values, but it stops at the first mistake and keeps no places. So the file is gone through
once before, in tokens of text_format's own tokenizer, and Parse is asked about each value by itself.
"""

import math
import re
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from bakeoff.config.api_export.messages import OPAQUE, REMOVED, name_of, new_message
from bakeoff.foundation.errors import ConfigError, choices

MOST_BYTES = 1_000_000  # the largest of that API's own files has 6,000
MOST_LISTED = 30  # mistakes
MAX_DEPTH = 64  # blocks inside one another; the deepest of that API's own files has 9
MAX_NAME = 200  # letters; the longest of that API has 45
MAX_SHOWN = 40  # characters of the file that a message repeats
OTHER_MODELS = {"faster_rcnn": "Faster R-CNN", "center_net": "CenterNet"}
NEAREST_MODEL = "the SSD `model: ssd_resnet50_fpn_640`"
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
VALUE = re.compile(
    r"[+-]?(?:[A-Za-z_]\w*+|0[xX][0-9a-fA-F]++|(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+[fF]?+)", re.ASCII
)
QUOTES = {"'", '"'}
CLOSING = {"{": "}", "<": ">"}
RULES = {
    FieldDescriptor.TYPE_BOOL: "true or false",
    FieldDescriptor.TYPE_DOUBLE: "a number",
    FieldDescriptor.TYPE_INT32: f"a whole number, at most {2**31 - 1}",
    FieldDescriptor.TYPE_UINT32: f"a whole number, 0 or more, at most {2**32 - 1}",
    FieldDescriptor.TYPE_STRING: "a text in quotes",
    FieldDescriptor.TYPE_ENUM: "a name",
    FieldDescriptor.TYPE_MESSAGE: "a block { }",
}


class Spot(NamedTuple):
    line: int
    column: int


@dataclass
class FieldLocation:
    """Where a field stands; of a block also where its fields do, in the order of the file."""

    spot: Spot
    fields: dict[str, list["FieldLocation"]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # the fields that the importer asked for


class SyntaxMistake(Exception):
    def __init__(self, spot: Spot, reason: str) -> None:
        self.spot, self.reason = spot, reason
        super().__init__(f"{spot.line}:{spot.column}: {reason}")


def read_message(source: bytes, file: str) -> tuple[Message, FieldLocation, str]:
    """Read a whole file; raise ConfigError with all that is wrong with it, or if it is not an SSD's."""
    text = _decode(source, file)
    try:
        root, mistakes = find_places(text)
    except SyntaxMistake as mistake:
        where = f"{file}:{mistake.spot.line}:{mistake.spot.column}"
        raise ConfigError(f"{where}: not protobuf text format: {mistake.reason}{_guess_format(text)}") from None
    if "model" not in root.fields:
        raise ConfigError(f"{file}: not a pipeline.config: it has no block `model {{ ssd {{ … }} }}`")
    [model] = root.fields["model"]
    chosen = next(iter(model.fields), None)
    if mistakes and chosen in ("ssd", None):
        lines = [f"{file}:{spot.line}:{spot.column}: {mistake}" for spot, mistake in sorted(mistakes)]
        more = [f"{file}: and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
        raise ConfigError("\n".join(lines[:MOST_LISTED] + more))
    if chosen != "ssd":
        line, column = model.fields[chosen][0].spot if chosen else model.spot
        where = f"{file}:{line}:{column}: model"
        if chosen:
            missing = OTHER_MODELS.get(chosen, chosen)
            raise ConfigError(f"{where}.{chosen}: there is no {missing} here; the nearest is {NEAREST_MODEL}")
        raise ConfigError(f"{where}: only `ssd` can be carried over, got no model")
    try:
        # By now the messages lack only what was removed, and what is inside of a block whose fields are not listed.
        return text_format.Parse(text, new_message(), allow_unknown_field=True), root, text
    except text_format.ParseError as error:
        raise ConfigError(f"{file}: not protobuf text format: {str(error)[:MAX_NAME]}") from None


def find_places(text: str) -> tuple[FieldLocation, list[tuple[Spot, str]]]:
    """Return where each field of a text stands, and every mistake in names and values."""
    walk, root = _Walk(text), FieldLocation(Spot(1, 1))
    walk.read_block(new_message().DESCRIPTOR, root, "", depth=0)
    return root, walk.mistakes


class _Walk:
    """A way through a text, token by token. A field whose descriptor is None is not checked."""

    def __init__(self, text: str) -> None:
        self.mistakes: list[tuple[Spot, str]] = []
        self._tokens = text_format.Tokenizer(text.split("\n"))

    def read_block(
        self, kind: Descriptor | None, place: FieldLocation, key: str, *, depth: int, opened: str = ""
    ) -> None:
        """Read all fields up to the mark that closes the block, or to the end of the text."""
        closing = CLOSING.get(opened, "")
        while self._tokens.token != closing:
            if self._tokens.AtEnd():
                raise self._mistake(f"the block opened in line {place.spot.line} is never closed")
            self._read_field(kind, place, key, depth)
            if not self._tokens.TryConsume(","):
                self._tokens.TryConsume(";")
        self._tokens.NextToken()

    def _read_field(self, kind: Descriptor | None, place: FieldLocation, key: str, depth: int) -> None:
        name = self._tokens.token
        if not NAME.fullmatch(name):
            raise self._mistake(f"a field's name must stand here, got {self._next()}")
        if len(name) > MAX_NAME:
            raise self._mistake(f"a name must have at most {MAX_NAME} letters, got {_shorten(name)}")
        spot = self._take()
        key = f"{key}.{name}" if key else name
        known = self._check_name(kind, name, place, key, spot)
        colon = self._tokens.TryConsume(":")
        if self._tokens.token == "[":
            if known and not known.is_repeated:
                self.mistakes.append((spot, f"{key}: is no list; it holds one value"))
                known = None
            places = self._read_list(known, name, key, depth, colon=colon)
        elif colon or self._tokens.token in CLOSING:
            places = [self._read_value(known, key, spot, depth)]
        else:
            raise self._mistake(f"after {name!r} must stand : or {{, got {self._next()}")
        if known and places:
            place.fields.setdefault(name, []).extend(places)

    def _check_name(
        self, kind: Descriptor | None, name: str, place: FieldLocation, key: str, spot: Spot
    ) -> FieldDescriptor | None:
        """Return the field; None if there is no such field or it must not stand here."""
        if kind is None:
            return None
        known = kind.fields_by_name.get(name)
        if known is None and (name_of(kind), name) in REMOVED:
            place.fields.setdefault(name, []).append(FieldLocation(spot))
            return None
        group = known.containing_oneof.fields if known and known.containing_oneof else []
        other = next((other.name for other in group if other.name in place.fields), None)
        if known is None:
            wrong = f"no such field; {choices(name, kind.fields_by_name)}"
        elif name in place.fields and not known.is_repeated:
            wrong = f"is there twice, first in line {place.fields[name][0].spot.line}; it holds one value"
        elif other:
            line = place.fields[other][0].spot.line
            wrong = f"cannot stand beside {other} (line {line}); only one of them can be chosen"
        else:
            return known
        self.mistakes.append((spot, f"{key}: {wrong}"))
        return None

    def _read_list(
        self, known: FieldDescriptor | None, name: str, key: str, depth: int, *, colon: bool
    ) -> list[FieldLocation]:
        if not colon and known and not known.message_type:
            raise self._mistake(f"after {name!r} must stand : before a list of plain values")
        opened = self._take().line
        places: list[FieldLocation] = []
        while not self._tokens.TryConsume("]"):
            if places and not self._tokens.TryConsume(","):
                between = f"between the values of a list (opened in line {opened})"
                raise self._mistake(f"{between} must stand ',', got {self._next()}")
            places.append(self._read_value(known, key, None, depth))
        return places

    def _read_value(self, known: FieldDescriptor | None, key: str, spot: Spot | None, depth: int) -> FieldLocation:
        """Read a value or a block; without a spot it stands where it begins."""
        kind, wrong, token = known.message_type if known else None, None, self._tokens.token
        if token in CLOSING:
            if depth >= MAX_DEPTH:
                raise self._mistake(f"blocks must not be nested deeper than {MAX_DEPTH}")
            start = self._take()
            place = FieldLocation(spot or start)
            listed = kind if kind and name_of(kind) not in OPAQUE else None
            self.read_block(listed, place, key, depth=depth + 1, opened=token)
            wrong = f"must be {RULES[known.type]}, got a block {{ }}" if known and not kind else None
        else:
            token = self._read_plain()
            place = FieldLocation(spot or self._last())
            wrong = _find_wrong(known, token) if known else None
        if wrong:
            self.mistakes.append((place.spot, f"{key}: {wrong}"))
        return place

    def _read_plain(self) -> str:
        """Return a number or a name as it stands, or a text in quotes."""
        token = self._tokens.token
        if VALUE.fullmatch(token):
            self._tokens.NextToken()
            return token
        if token[:1] not in QUOTES:
            is_number = token[:1].isdigit() or token[:1] == "."
            raise self._mistake(f"{'not a number:' if is_number else 'a value must stand here, got'} {self._next()}")
        shown = _shorten(token if token.isprintable() else repr(token)[1:-1])
        if len(token) < 2 or token[-1] != token[0]:
            raise self._mistake(f"a text must end on its line with {token[0]}, got {shown}")
        try:
            with warnings.catch_warnings(action="error"):  # of an escape that does not exist Python only warns
                return repr(self._tokens.ConsumeString())
        except (text_format.ParseError, Warning):
            reason = f"a text must end on its line and be UTF-8, with escapes like \\n, \\' and \\303, got {shown}"
            raise SyntaxMistake(self._last(), reason) from None

    def _take(self) -> Spot:
        """Take the next token and return where it stood."""
        self._tokens.NextToken()
        return self._last()

    def _last(self) -> Spot:
        """Return where the token stood that was read last."""
        place = self._tokens.ParseErrorPreviousToken("")
        return Spot(place.GetLine(), place.GetColumn())

    def _next(self) -> str:
        return "the end of the file" if self._tokens.AtEnd() else repr(_shorten(self._tokens.token))

    def _mistake(self, reason: str) -> SyntaxMistake:
        place = self._tokens.ParseError("")
        return SyntaxMistake(Spot(place.GetLine(), place.GetColumn()), reason)


def _find_wrong(known: FieldDescriptor, token: str) -> str | None:
    """Return what Parse has against a value that is no block, or None."""
    if known.type == FieldDescriptor.TYPE_STRING and token[0] in QUOTES:
        return None
    message = new_message(name_of(known.containing_type))
    try:
        text_format.Parse(f"{known.name}: {token}", message)
    except text_format.ParseError:
        if known.enum_type:
            return f"no such choice {_shorten(token)}; {choices(_shorten(token), known.enum_type.values_by_name)}"
        return f"must be {RULES[known.type]}, got {_shorten(token)}"
    value = getattr(message, known.name)
    values = value if known.is_repeated else [value]
    finite = known.type != FieldDescriptor.TYPE_DOUBLE or all(map(math.isfinite, values))
    return None if finite else f"must be a finite number, got {_shorten(token)}"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _decode(source: bytes, file: str) -> str:
    if len(source) > MOST_BYTES:
        raise ConfigError(f"{file}: must be at most {MOST_BYTES:,} bytes, got more; is it a pipeline.config?")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not a text in UTF-8 (byte {error.start}); pipeline.config is one") from None
    if "\0" in text:
        raise ConfigError(f"{file}: a binary file; pipeline.config is a text")
    return text


def _guess_format(text: str) -> str:
    """Say what the file may be instead."""
    first = next((line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] != "#"), "")
    if first.startswith(("{", "[")):
        return "; it looks like JSON"
    return "; it looks like YAML" if first.endswith(":") or first == "---" else ""
