"""What a pipeline.config may hold: that API's public messages and fields, with types, defaults and numbers.

The tables are its protos as of release 2.8, as far as an SSD detector goes. A field's line is
`number name type [repeated] [default=…] [oneof=…] [deprecated]`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from bakeoff.object_detection_api import schema_augmentation, schema_detection, schema_network, schema_training

ROOT = "TrainEvalPipelineConfig"
SCALARS = frozenset({"bool", "float", "int32", "uint32", "string"})
OPAQUE = frozenset(  # messages that no SSD detector needs: known by name, their inside is not listed
    {
        "FasterRcnn", "CenterNet", "ExperimentalModel", "MaskRCNNBoxPredictor", "RfcnBoxPredictor", "CalibrationConfig",
    }
)  # fmt: skip
REMOVED = {  # fields of old releases that the current protos no longer have
    ("SsdFeatureExtractor", "batch_norm_trainable"),
}


@dataclass(frozen=True)
class FieldType:
    number: int
    name: str
    type: str  # a scalar, or the name of a message or an enum
    repeated: bool = False
    default: str | None = None
    oneof: str | None = None  # only one field of this name's group may be set
    deprecated: bool = False


def _messages() -> tuple[dict[str, dict[str, FieldType]], dict[str, dict[str, int]]]:
    messages: dict[str, dict[str, FieldType]] = {name: {} for name in OPAQUE}
    enums: dict[str, dict[str, int]] = {}
    for line in _lines():
        first, *rest = line.split()
        if first == "message":
            fields = messages.setdefault(rest[0], {})
        elif first == "enum":
            values = enums.setdefault(rest[0], {})
            values |= {name: int(number) for name, number in (value.split("=") for value in rest[1:])}
        else:
            field = _field(int(first), *rest)
            fields[field.name] = field
    return messages, enums


def _lines() -> Iterator[str]:
    for table in (schema_network, schema_detection, schema_training, schema_augmentation):
        yield from table.TABLE.strip().splitlines()


def _field(number: int, name: str, kind: str, *marks: str) -> FieldType:
    said = dict(mark.split("=") for mark in marks if "=" in mark)
    return FieldType(
        number, name, kind, "repeated" in marks, said.get("default"), said.get("oneof"), "deprecated" in marks
    )


MESSAGES, ENUMS = _messages()


def oneofs(message: str) -> dict[str, list[str]]:
    """The groups of fields of which only one may be set."""
    grouped = [field for field in MESSAGES[message].values() if field.oneof]
    named = groupby(sorted(grouped, key=lambda field: field.oneof or ""), key=lambda field: field.oneof or "")
    return {name: [field.name for field in fields] for name, fields in named}
