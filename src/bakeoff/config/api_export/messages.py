"""The Object Detection API's public messages, which protobuf makes from tables, and a tree of fields as their text.

The tables in schema/ are that API's protos as of release 2.8, as far as an SSD detector goes. A field's line is
`number name type [repeated] [default=…] [oneof=…] [deprecated]`; a nested message or enum is named `Outer.Inner`.
"""

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

SCHEMA = Path(__file__).parent / "schema"
PACKAGE = "object_detection.protos"
ROOT = "TrainEvalPipelineConfig"
OPAQUE = frozenset(  # messages that no SSD detector needs: known by name, their inside is not listed
    {"FasterRcnn", "CenterNet", "ExperimentalModel", "MaskRCNNBoxPredictor", "RfcnBoxPredictor", "CalibrationConfig"}
)
REMOVED = {("SsdFeatureExtractor", "batch_norm_trainable")}  # fields of old releases that the current protos lack
PROTO = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "bool": PROTO.TYPE_BOOL,
    # In text a float and a double are the same; as a double a variant's number keeps all of its digits.
    "float": PROTO.TYPE_DOUBLE,
    "int32": PROTO.TYPE_INT32,
    "uint32": PROTO.TYPE_UINT32,
    "string": PROTO.TYPE_STRING,
}
WIDTH = 100  # of comments
INDENT = "  "
Tree = dict[str, Any]  # a message: field -> value, list of values, or tree; None: not set


@dataclass(frozen=True)
class Noted:
    """A value with a comment above it, one paragraph a line; without a value the comment stands alone."""

    comment: str
    value: Any = None


@dataclass(frozen=True)
class Key:
    """What a table says of a field: the setting that it holds, and what its values are called there, `ours: theirs`."""

    setting: str  # such as loss.focal_alpha
    names: Mapping[Any, Any] | None = None


class OneLine(Tree):
    """A message that is written on one line."""


def new_message(name: str = ROOT) -> Message:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))()


def name_of(kind: Descriptor) -> str:
    """Return a message's name as the tables have it."""
    return str(kind.full_name.removeprefix(f"{PACKAGE}."))


def _build_pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="pipeline.proto", package=PACKAGE, syntax="proto2")
    tables = [table.read_text(encoding="utf-8") for table in sorted(SCHEMA.glob("*.txt"))]
    lines = [line.split() for table in tables for line in table.splitlines()]
    messages = dict.fromkeys([*OPAQUE, *(parts[1] for parts in lines if parts[0] == "message")])
    enums = {parts[1] for parts in lines if parts[0] == "enum"}
    owners: dict[str, Any] = {"": file}
    for name in sorted(messages, key=lambda name: name.count(".")):
        outer, _, inner = name.rpartition(".")
        owners[name] = (owners[outer].nested_type if outer else file.message_type).add(name=inner)
    made: dict[str, Any] = {}
    current = file
    for first, *parts in lines:
        if first == "message":
            current = owners[parts[0]]
        elif first == "enum":
            outer, _, inner = parts[0].rpartition(".")
            enum = made.get(parts[0]) or made.setdefault(parts[0], owners[outer].enum_type.add(name=inner))
            for value, _, number in (pair.partition("=") for pair in parts[1:]):
                enum.value.add(name=value, number=int(number))
        else:
            _add_field(current, int(first), *parts, enums=enums)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _add_field(owner: Any, number: int, name: str, kind: str, *marks: str, enums: set[str]) -> None:
    label = PROTO.LABEL_REPEATED if "repeated" in marks else PROTO.LABEL_OPTIONAL
    field = owner.field.add(name=name, number=number, label=label)
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type = PROTO.TYPE_ENUM if kind in enums else PROTO.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{kind}"
    field.options.deprecated = "deprecated" in marks
    for key, _, value in (mark.partition("=") for mark in marks):
        if key == "default":
            field.default_value = value
        elif key == "oneof":
            groups = [oneof.name for oneof in owner.oneof_decl]
            if value not in groups:
                owner.oneof_decl.add(name=value)
                groups.append(value)
            field.oneof_index = groups.index(value)


_POOL = _build_pool()


def keys(group: str, *same: str, **others: str) -> Tree:
    """Return entries of a table for the settings of a group: those of a field's own name, and `field="setting"`."""
    names = dict.fromkeys(same) | others
    return {field: Key(f"{group}.{name or field}".removeprefix(".")) for field, name in names.items()}


def fill(table: Tree, settings: object) -> Tree:
    """Return the fields of a table with the settings in them. Functions are asked; other values are constant."""
    tree: Tree = {}
    for field, entry in table.items():
        if isinstance(entry, Key):
            value = attrgetter(entry.setting)(settings)
            tree[field] = entry.names[value] if entry.names else value
        elif isinstance(entry, dict):
            tree[field] = fill(entry, settings)
        else:
            tree[field] = entry(settings) if callable(entry) else entry
    return tree


def round_off(number: float) -> float:
    """Return the number without its last digits, which arithmetic leaves behind."""
    return round(number, 9)


def format_text(tree: Tree, kind: str = ROOT) -> str:
    """Return the text of a message of that kind; protobuf refuses what the message does not have."""
    return "\n".join(_format_lines(tree, json_format.ParseDict(_strip_comments(tree), new_message(kind))))


def format_comment(text: str) -> list[str]:
    """Return lines of comment, one paragraph for each line of the text."""
    return [f"# {line}" for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, WIDTH)]


def _strip_comments(value: Any) -> Any:
    if isinstance(value, Noted):
        return _strip_comments(value.value)
    if isinstance(value, dict):
        return {name: _strip_comments(inner) for name, inner in value.items()}
    return [_strip_comments(item) for item in value] if isinstance(value, list | tuple) else value


def _format_lines(tree: Tree, message: Message) -> Iterator[str]:
    """Yield lines in the tree's own order, with values as protobuf writes them."""
    for name, entry in tree.items():
        field, values = message.DESCRIPTOR.fields_by_name[name], getattr(message, name)
        if isinstance(entry, Noted):
            yield from format_comment(entry.comment)
            entry = entry.value
        if entry is None:
            continue
        pairs: Iterable = zip(entry, values, strict=True) if field.is_repeated else [(entry, values)]
        for given, value in pairs:
            if field.message_type is None:
                out = io.StringIO()
                text_format.PrintField(field, value, out)
                yield out.getvalue().rstrip("\n")
            elif isinstance(given, OneLine):
                yield f"{name} {{ {text_format.MessageToString(value, as_one_line=True)} }}"
            else:
                yield from (f"{name} {{", *(f"{INDENT}{line}" for line in _format_lines(given, value)), "}")
