"""Where two pipeline.configs differ, field by field; run by the Object Detection API's own environment, by its protos.

python protos_there.py samples/ written/ differences.json

writes for each file of `written` `[[field, there, here], …]`. A field that a file leaves out has its default.
"""

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")  # its protos are of an older protobuf

from google.protobuf import text_format
from google.protobuf.message import Message

Differences = list[tuple[str, str, str]]


def main(samples: str, written: str, out: str) -> None:
    differences = {
        path.name: compare(read(Path(samples) / path.name), read(path)) for path in sorted(Path(written).glob("*"))
    }
    Path(out).write_text(json.dumps(differences), encoding="utf-8")


def read(path: Path) -> Message:
    from object_detection.protos import pipeline_pb2

    return text_format.Parse(path.read_text(encoding="utf-8"), pipeline_pb2.TrainEvalPipelineConfig())


def compare(there: Message, here: Message, key: str = "") -> Differences:
    differences: Differences = []
    for oneof in there.DESCRIPTOR.oneofs:
        chosen = [one.WhichOneof(oneof.name) for one in (there, here)]
        if chosen[0] != chosen[1]:
            shown = [show(getattr(one, name)) if name else "" for one, name in zip((there, here), chosen, strict=True)]
            differences.append((".".join(filter(None, (key, chosen[0] or chosen[1]))), *shown))
    for field in there.DESCRIPTOR.fields:
        name = f"{key}.{field.name}" if key else field.name
        ours, theirs = getattr(here, field.name), getattr(there, field.name)
        if not isinstance(theirs, Message | bool | int | float | str):
            differences += compare_lists(list(theirs), list(ours), name)
        elif field.message_type is None:
            if plain(theirs) != plain(ours):
                differences.append((name, show(theirs), show(ours)))
        elif there.HasField(field.name) and here.HasField(field.name):
            differences += compare(theirs, ours, name)
        elif not field.containing_oneof and (there.HasField(field.name) or here.HasField(field.name)):
            shown = [show(one) if owner.HasField(field.name) else "" for owner, one in ((there, theirs), (here, ours))]
            differences.append((name, *shown))
    return differences


def compare_lists(theirs: list[Any], ours: list[Any], name: str) -> Differences:
    if len(theirs) != len(ours):
        return [(name, f"{len(theirs)} entries", f"{len(ours)} entries")]
    if theirs and isinstance(theirs[0], Message):
        return [one for there, here in zip(theirs, ours, strict=True) for one in compare(there, here, name)]
    return [(name, show(theirs), show(ours))] if [*map(plain, theirs)] != [*map(plain, ours)] else []


def plain(value: Any) -> Any:
    """Return a number as a float32 holds it, as that API's fields do."""
    return struct.unpack("f", struct.pack("f", value))[0] if isinstance(value, float) else value


def show(value: Any) -> str:
    text = text_format.MessageToString(value, as_one_line=True) if isinstance(value, Message) else str(value)
    return text.strip() or "{}"


if __name__ == "__main__":
    main(*sys.argv[1:])
