"""What a .tflite says of itself: TensorFlow Lite's metadata, by the field numbers of its published schema (1.2.0).

Readers such as the Task Library find there how pixels become inputs, what each output is, and the file of labels, which
is packed in behind the model. Writing and reading it needs no TensorFlow.
"""

import io
import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatbuffers.number_types import Uint8Flags

from bakeoff.export.flatbuffer import Byte, FlatbufferTable, FlatTable, Int32, Numbers, finish
from bakeoff.foundation.errors import DataError

MODEL_IDENTIFIER, IDENTIFIER, PARSER = b"TFL3", b"M001", "1.0.0"
PARSER_OF_GROUPS = "1.2.0"  # the first that knows groups of outputs
DETECTION, GROUP = ("boxes", "classes", "scores"), "detection_result"  # outputs whose rows belong together
METADATA = "TFLITE_METADATA"  # the name of the model's buffer that holds it
LABELS = "labels.txt"
DAMAGED = (ValueError, TypeError, RecursionError, struct.error, StopIteration, IndexError, zipfile.BadZipFile)
VIEW = "view.json"  # beside the labels: what the network is to be shown of an image
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever they are packed
RULE = "suppression.json"  # beside the labels of a detector that gives every candidate: how they become detections
MEAN = DEVIATION = 127.5  # of pixels
UNIT = (0.0, 255.0)  # the same for inputs from 0 to 1
AXIS_LABELS, VALUE_LABELS = 2, 3  # AssociatedFileType: a label for each number, or for each value
FEATURE, IMAGE, BOX = 1, 2, 3  # ContentProperties
NORMALIZATION = 1  # ProcessUnitOptions
RGB, BOUNDARIES = 1, 1
LEFT_TOP_RIGHT_BOTTOM = (1, 0, 3, 2)  # where they stand in ymin xmin ymax xmax


@dataclass(frozen=True)
class ModelMetadata:
    """What is not in the network."""

    name: str  # of the variant
    origin: str = "random weights"  # what training started from
    licences: str = ""  # licences of the origin; empty if nobody else has rights in it


def write_metadata(
    about: ModelMetadata, kind: str, outputs: Sequence[str], *, is_quantized: bool,
    scale: tuple[float, float] = (MEAN, DEVIATION),
) -> bytes:  # fmt: skip
    """Describe a file by our names of its outputs, in their order; `scale` is what inputs are normalized by."""
    description = f"{kind}; trained from {about.origin}"
    mean, deviation = scale
    normalization = FlatbufferTable({0: [mean], 1: [deviation]})
    lowest, highest = (0.0, 255.0) if is_quantized else ((0 - mean) / deviation, (255 - mean) / deviation)
    image = FlatbufferTable(
        {
            0: "image",
            1: "RGB pixels, normalized by mean and deviation; unsigned bytes are pixels as they are",
            3: _content(IMAGE, FlatbufferTable({0: Byte(RGB)})),
            4: [FlatbufferTable({0: Byte(NORMALIZATION), 1: normalization})],
            5: FlatbufferTable({0: [highest], 1: [lowest]}),
        }
    )
    is_detector = all(output in outputs for output in DETECTION)
    tables = [_candidates(name) if scale == UNIT else _OUTPUTS[name] for name in outputs]
    names = [_OUTPUTS[output].fields[0] for output in DETECTION]
    groups = [FlatbufferTable({0: GROUP, 1: names})] if is_detector else None
    subgraph = FlatbufferTable({2: [image], 3: tables, 8: groups})
    parser = PARSER_OF_GROUPS if groups else PARSER
    return finish(
        FlatbufferTable({0: about.name, 1: description, 3: [subgraph], 5: about.licences or None, 7: parser}),
        IDENTIFIER,
    )


def _output(name: str, description: str, content: FlatbufferTable, labels: int | None = None) -> FlatbufferTable:
    files = [FlatbufferTable({0: LABELS, 1: "one label a line", 2: Byte(labels)})] if labels else None
    return FlatbufferTable({0: name, 1: description, 3: content, 6: files})


def _candidates(name: str) -> FlatbufferTable:
    """Describe an output in a layout of other makers' detectors."""
    return _output(
        name, f"of every candidate, see the layout in {RULE}", _content(FEATURE, FlatbufferTable()), AXIS_LABELS
    )


def _content(kind: int, properties: FlatbufferTable, axis: int | None = None) -> FlatbufferTable:
    """`axis`: of which the numbers belong together."""
    return FlatbufferTable(
        {0: Byte(kind), 1: properties, 2: axis and FlatbufferTable({0: Int32(axis), 1: Int32(axis)})}
    )


_DETECTED = _content(FEATURE, FlatbufferTable(), axis=2)
_EDGES = FlatbufferTable({0: Numbers(LEFT_TOP_RIGHT_BOTTOM), 1: Byte(BOUNDARIES)})
_OUTPUTS = {
    "boxes": _output("location", "ymin xmin ymax xmax, shares of the image", _content(BOX, _EDGES, axis=2)),
    "classes": _output("category", "places in the list of labels, from 0", _DETECTED, VALUE_LABELS),
    "scores": _output("score", "0 to 1", _DETECTED),
    "count": _output("number of detections", "how many rows of the others hold", _content(FEATURE, FlatbufferTable())),
    "probabilities": _output("probability", "of each label", _content(FEATURE, FlatbufferTable()), AXIS_LABELS),
    "label_scores": _output("score", "of each label by itself", _content(FEATURE, FlatbufferTable()), AXIS_LABELS),
}


def pack_files(model: bytes, texts: Mapping[str, str]) -> bytes:
    """Put the texts behind the model as a zip archive, where readers look for them; `unzip -p` shows them, too."""
    file = io.BytesIO(model)
    with zipfile.ZipFile(file, "a") as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name, NO_DATE), text)
    return file.getvalue()


@dataclass(frozen=True)
class LiteMetadata:
    labels: tuple[str, ...]
    mean: tuple[float, ...]  # of pixels
    deviation: tuple[float, ...]
    outputs: tuple[str, ...]  # names, in the file's order
    view: dict[str, Any]  # what the network is to be shown of an image; empty in files of other software
    rule: dict[str, Any]  # of a detector that gives every candidate; empty in others


def read_metadata(path: Path) -> LiteMetadata:
    data = path.read_bytes()
    if data[4:8] != MODEL_IDENTIFIER:
        raise DataError(f"{path}: is no TensorFlow Lite model, it begins with {data[:8]!r}")
    try:
        root = _find_metadata(data)
        texts = _unpack_files(path)
        if root is None or not set(texts) - {VIEW, RULE}:
            raise DataError(
                f"{path}: holds no labels, so its answers have no names; export packs them in, as metadata writers do"
            )
        [subgraph, *_] = root.tables(3)
        [image, *_] = subgraph.tables(2)
        outputs = subgraph.tables(3)
        labels = next(text for name, text in texts.items() if name in _label_files(outputs, root, texts))
        mean, deviation = _read_normalization(image)
        view, rule = (json.loads(texts.get(name, "{}")) for name in (VIEW, RULE))
        names = tuple(output.text(0) for output in outputs)
    except DAMAGED as error:
        reason = f"is damaged or cut off, its metadata cannot be read ({type(error).__name__}: {error})"
        raise DataError(f"{path}: {reason}") from None
    return LiteMetadata(tuple(labels.splitlines()), tuple(mean), tuple(deviation), names, view, rule)


def _find_metadata(data: bytes) -> FlatTable | None:
    model = FlatTable.root(data)
    for entry in model.tables(6):
        if entry.text(0) == METADATA:
            return FlatTable.root(model.tables(4)[entry.number(1)].bytes(0))
    return None


def _unpack_files(path: Path) -> dict[str, str]:
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode("utf-8") for name in archive.namelist()}


def _label_files(outputs: list[FlatTable], root: FlatTable, texts: Mapping[str, str]) -> set[str]:
    """Go by what is said of the outputs; if nothing is, by all that is packed in."""
    named = {file.text(0) for table in [*outputs, root] for file in table.tables(6)}
    return named or set(texts) - {VIEW, RULE}


def _read_normalization(image: FlatTable) -> tuple[list[float], list[float]]:
    for unit in image.tables(4):
        options = unit.table(1)
        if unit.number(0, Uint8Flags) == NORMALIZATION and options:
            return options.floats(0), options.floats(1)
    return [MEAN], [DEVIATION]
