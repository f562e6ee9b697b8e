"""Run by the Object Detection API's own environment: every message that a pipeline.config can hold, as JSON.

python schema_there.py schema.json

writes for each message its fields: `[name, number, kind, repeated, default, group, deprecated]`.
"""

import json
import os
import sys
from typing import Any

os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"  # its protos are of an older protobuf

from object_detection.protos import pipeline_pb2

REPEATED = 3  # protobuf's number of the label


def main(out: str) -> None:
    schema: dict[str, list] = {}
    collect(pipeline_pb2.TrainEvalPipelineConfig.DESCRIPTOR, schema)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(schema, file)


def collect(message: Any, schema: dict[str, list]) -> None:
    if message.full_name in schema:
        return
    schema[message.full_name] = [describe(field) for field in message.fields]
    for field in message.fields:
        if field.message_type:
            collect(field.message_type, schema)


def describe(field: Any) -> list:
    kind = field.message_type or field.enum_type
    default = None if field.message_type or field.label == REPEATED else field.default_value
    if field.enum_type and default is not None:
        default = field.enum_type.values_by_number[default].name
    return [
        field.name,
        field.number,
        kind.full_name if kind else field.type,
        field.label == REPEATED,
        default,
        field.containing_oneof.name if field.containing_oneof else None,
        bool(field.GetOptions().deprecated),
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
