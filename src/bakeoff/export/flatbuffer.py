"""Tables of a flatbuffer, written and read field by field, under the numbers that a schema gives them.

data = finish(FlatbufferTable({0: "digits", 3: [FlatbufferTable({0: "only subgraph"})]}), b"M001")
FlatTable.root(data).tables(3)[0].text(0)  # "only subgraph"
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
from flatbuffers import encode
from flatbuffers.number_types import Float32Flags, Uint32Flags, UOffsetTFlags
from flatbuffers.table import Table


@dataclass(frozen=True)
class Byte:
    """An enumeration's value, or which of a union's tables stands in the field after it."""

    value: int


@dataclass(frozen=True)
class Int32:
    value: int


@dataclass(frozen=True)
class Numbers:
    """A vector of unsigned 32-bit numbers."""

    values: Sequence[int]


@dataclass(frozen=True)
class FlatbufferTable:
    """A field is a text, a table, a list of one of these or of floats, or a number with its width; None is left out."""

    fields: Mapping[int, Any] = field(default_factory=dict)


def finish(root: FlatbufferTable, identifier: bytes) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(_write_table(builder, root), file_identifier=identifier)
    return bytes(builder.Output())


def _write_table(builder: flatbuffers.Builder, table: FlatbufferTable) -> int:
    fields = {number: value for number, value in table.fields.items() if value is not None}
    # What a table points to is written before it.
    pointed = {number: value for number, value in fields.items() if not isinstance(value, (Byte, Int32))}
    places = {number: _write(builder, value) for number, value in pointed.items()}
    builder.StartObject(max(fields, default=-1) + 1)
    for number, value in fields.items():
        if isinstance(value, Byte):
            builder.PrependUint8Slot(number, value.value, 0)
        elif isinstance(value, Int32):
            builder.PrependInt32Slot(number, value.value, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(number, places[number], 0)
    return builder.EndObject()


def _write(builder: flatbuffers.Builder, value: Any) -> int:
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, FlatbufferTable):
        return _write_table(builder, value)
    if isinstance(value, Numbers):
        return _write_vector(builder, value.values, builder.PrependUint32)
    if all(isinstance(item, float) for item in value):
        return _write_vector(builder, value, builder.PrependFloat32)
    places = [_write(builder, item) for item in value]
    return _write_vector(builder, places, builder.PrependUOffsetTRelative)


def _write_vector(builder: flatbuffers.Builder, values: Sequence[Any], prepend: Any) -> int:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        prepend(value)
    return builder.EndVector()


class FlatTable:
    """One that is read. A field that is left out is 0 or empty; bytes that are no flatbuffer raise struct.error."""

    def __init__(self, data: bytes, place: int) -> None:
        self._table = Table(data, place)

    @classmethod
    def root(cls, data: bytes) -> "FlatTable":
        return cls(data, encode.Get(UOffsetTFlags.packer_type, data, 0))

    def number(self, field: int, kind: type = Uint32Flags) -> int:
        place = self._find(field)
        return self._table.Get(kind, place) if place else 0

    def text(self, field: int) -> str:
        return self.bytes(field).decode("utf-8", "replace")

    def bytes(self, field: int) -> bytes:
        place = self._find(field)
        return self._table.String(place) if place else b""

    def floats(self, field: int) -> list[float]:
        offset = self._table.Offset(4 + 2 * field)
        return self._table.GetVectorAsNumpy(Float32Flags, offset).tolist() if offset else []

    def table(self, field: int) -> "FlatTable | None":
        place = self._find(field)
        return FlatTable(self._table.Bytes, self._table.Indirect(place)) if place else None

    def tables(self, field: int) -> list["FlatTable"]:
        if not (offset := self._table.Offset(4 + 2 * field)):
            return []
        start, length = self._table.Vector(offset), self._table.VectorLen(offset)
        return [FlatTable(self._table.Bytes, self._table.Indirect(start + 4 * item)) for item in range(length)]

    def _find(self, field: int) -> int:
        """Return where its value is; 0 if it is left out."""
        offset = self._table.Offset(4 + 2 * field)
        return self._table.Pos + offset if offset else 0
