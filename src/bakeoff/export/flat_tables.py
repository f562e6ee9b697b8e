"""Tables of a flatbuffer, written field by field under the numbers that a schema gives them.

finished(Table({0: "digits", 3: [Table({0: "only subgraph"})]}), b"M001")
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers


@dataclass(frozen=True)
class Byte:
    """An enumeration's value, or which of a union's tables stands in the field after it."""

    value: int


@dataclass(frozen=True)
class Int32:
    value: int


@dataclass(frozen=True)
class Table:
    """A field is a text, a table, a list of one of these or of floats, or a number with its width; None is left out."""

    fields: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Numbers:
    """A vector of unsigned 32-bit numbers."""

    values: Sequence[int]


def finished(root: Table, identifier: bytes) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, root), file_identifier=identifier)
    return bytes(builder.Output())


def _table(builder: flatbuffers.Builder, table: Table) -> int:
    fields = {number: value for number, value in table.fields.items() if value is not None}
    # What a table points to is written before it.
    places = {
        number: _written(builder, value) for number, value in fields.items() if not isinstance(value, (Byte, Int32))
    }
    builder.StartObject(max(fields, default=-1) + 1)
    for number, value in fields.items():
        if isinstance(value, Byte):
            builder.PrependUint8Slot(number, value.value, 0)
        elif isinstance(value, Int32):
            builder.PrependInt32Slot(number, value.value, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(number, places[number], 0)
    return builder.EndObject()


def _written(builder: flatbuffers.Builder, value: Any) -> int:
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, Table):
        return _table(builder, value)
    if isinstance(value, Numbers):
        return _vector(builder, value.values, builder.PrependUint32)
    if all(isinstance(item, float) for item in value):
        return _vector(builder, value, builder.PrependFloat32)
    places = [_written(builder, item) for item in value]
    return _vector(builder, places, builder.PrependUOffsetTRelative)


def _vector(builder: flatbuffers.Builder, values: Sequence[Any], prepend: Any) -> int:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        prepend(value)
    return builder.EndVector()
