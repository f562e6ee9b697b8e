"""A pipeline.config checked against that API's protos: values by name, and which of them nobody asked for.

ssd = read_block(text, mistakes).inner("model").inner("ssd")
ssd.inner("loss").number("classification_weight")   # the file's value, or the proto's default
[left.key for left in root.left()]                  # what the importer had no use for
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.errors import choices
from bakeoff.object_detection_api import schema
from bakeoff.object_detection_api.schema import FieldType
from bakeoff.object_detection_api.text_reader import Field, Message, Scalar
from bakeoff.object_detection_api.values import Value, WrongValue, default_of, value_of


@dataclass(frozen=True)
class Said:
    """One line of the file: a value or a block of values."""

    line: int
    value: "Value | Block"


@dataclass(frozen=True)
class Left:
    """What stands in the file and was not asked for."""

    line: int
    key: str
    message: str  # the type of the message that it is a field of
    field: FieldType | None  # None: a field that the API has removed
    value: "Value | Block"


class Mistakes:
    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def add(self, line: int, text: str) -> None:
        self.found.append((line, text))


class Block:
    """A message: as protobuf has it, one that is not there is one without any field."""

    def __init__(self, message: str, key: str, line: int, said: dict[str, list[Said]]) -> None:
        self.message, self.key, self.line = message, key, line
        self._said = said
        self._asked: set[str] = set()

    def has(self, name: str) -> bool:
        self._type(name)
        return name in self._said

    def get(self, name: str) -> Value:
        """The file's value, or the default."""
        field = self._type(name)
        self._asked.add(name)
        if name not in self._said:
            return default_of(field.default, field.type)
        value = self._said[name][0].value
        assert not isinstance(value, Block), name
        return value

    def number(self, name: str) -> float:
        return float(self.get(name))

    def whole(self, name: str) -> int:
        value = self.get(name)
        assert isinstance(value, int), name
        return value

    def flag(self, name: str) -> bool:
        return bool(self.get(name))

    def text(self, name: str) -> str:
        return str(self.get(name))

    def numbers(self, name: str) -> list[float]:
        assert self._type(name).repeated, name
        self._asked.add(name)
        return [float(said.value) for said in self._said.get(name, []) if not isinstance(said.value, Block)]

    def inner(self, name: str) -> "Block":
        return next(iter(self.inners(name)), Block(self._type(name).type, self._inside(name), self.line, {}))

    def inners(self, name: str) -> "list[Block]":
        """Of a repeated field."""
        self._type(name)
        self._asked.add(name)
        return [said.value for said in self._said.get(name, []) if isinstance(said.value, Block)]

    def chosen(self, oneof: str) -> str | None:
        """Which of the fields of a group is set."""
        return next((name for name in schema.oneofs(self.message)[oneof] if name in self._said), None)

    def line_of(self, name: str) -> int:
        self._type(name)
        return self._said[name][0].line if name in self._said else self.line

    def key_of(self, name: str) -> str:
        return self._inside(name)

    def pass_over(self, *names: str) -> None:
        """Counts as asked for, with all that is inside."""
        for name in names:
            self._asked.add(name)
            for block in self.inners(name):
                block.pass_over(*schema.MESSAGES[block.message])

    def left(self) -> Iterator[Left]:
        """What was not asked for; of a block nobody looked into only the block itself."""
        for name, all_said in self._said.items():
            for said in all_said:
                if name not in self._asked:
                    field = schema.MESSAGES[self.message].get(name)
                    yield Left(said.line, self._inside(name), self.message, field, said.value)
                elif isinstance(said.value, Block):
                    yield from said.value.left()

    def _type(self, name: str) -> FieldType:
        return schema.MESSAGES[self.message][name]

    def _inside(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name


def checked(message: Message, mistakes: Mistakes) -> Block:
    """The whole file, with every mistake in names and types noted."""
    return _block(schema.ROOT, message, key="", line=1, mistakes=mistakes)


def _block(kind: str, message: Message, *, key: str, line: int, mistakes: Mistakes) -> Block:
    known = schema.MESSAGES[kind]
    said: dict[str, list[Said]] = {}
    groups: dict[str, Field] = {}
    for field in message.fields if kind not in schema.OPAQUE else ():
        full = f"{key}.{field.name}" if key else field.name
        kind_of = known.get(field.name)
        if kind_of is None:
            if (kind, field.name) in schema.REMOVED and isinstance(field.value, Scalar):
                said.setdefault(field.name, []).append(Said(field.line, field.value.text))
                continue
            mistakes.add(field.line, f"{full}: no such field; {choices(field.name, known)}")
            continue
        if not kind_of.repeated and (field.name in said or field.listed):
            where = f"is there twice, first in line {said[field.name][0].line}" if field.name in said else "is no list"
            mistakes.add(field.line, f"{full}: {where}; it holds one {_noun(kind_of)}")
            continue
        if kind_of.oneof:
            first = groups.setdefault(kind_of.oneof, field)
            if first.name != field.name:
                text = f"{full}: cannot stand beside {first.name} (line {first.line}); only one of them can be chosen"
                mistakes.add(field.line, text)
                continue
        if field.value is None:
            continue
        value = _value(kind_of, field.value, key=full, line=field.line, mistakes=mistakes)
        if value is not None:
            said.setdefault(field.name, []).append(Said(field.line, value))
    return Block(kind, key, line, said)


def _value(
    kind: FieldType, value: Scalar | Message, *, key: str, line: int, mistakes: Mistakes
) -> "Value | Block | None":
    """None: the mistake is noted."""
    is_message = kind.type in schema.MESSAGES
    if isinstance(value, Message):
        if is_message:
            return _block(kind.type, value, key=key, line=line, mistakes=mistakes)
        mistakes.add(line, f"{key}: must be {_noun(kind)}, got a block {{ }}")
        return None
    if is_message:
        mistakes.add(line, f"{key}: must be a block {{ }}, got {value.text!r}")
        return None
    try:
        return value_of(value, kind.type)
    except WrongValue as wrong:
        mistakes.add(line, f"{key}: {wrong}")
        return None


def _noun(kind: FieldType) -> str:
    nouns = {"bool": "true or false", "float": "number", "int32": "whole number", "uint32": "whole number"}
    if kind.type in schema.MESSAGES:
        return "block"
    return nouns.get(kind.type, "text" if kind.type == "string" else "name")
