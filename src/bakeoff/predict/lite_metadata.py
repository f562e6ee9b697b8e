"""What a .tflite says of itself: labels, how pixels become inputs, what each output is. Needs no TensorFlow."""

import json
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.errors import DataError
from bakeoff.predict.flat_tables import FlatTable

IDENTIFIER = b"TFL3"
METADATA = "TFLITE_METADATA"
VIEW = "view.json"  # which `export` packs in beside the labels
NORMALIZATION = 1
PIXELS = ([127.5], [127.5])


@dataclass(frozen=True)
class LiteMetadata:
    labels: tuple[str, ...]
    mean: tuple[float, ...]  # of pixels
    deviation: tuple[float, ...]
    outputs: tuple[str, ...]  # names, in the file's order
    view: dict[str, Any]  # what the network is to be shown of an image; empty in files of other software


def read_metadata(path: Path) -> LiteMetadata:
    data = path.read_bytes()
    if data[4:8] != IDENTIFIER:
        raise DataError(f"{path}: is no TensorFlow Lite model, it begins with {data[:8]!r}")
    try:
        described = _described(data)
        files = _packed_files(path)
        if described is None or not any(name != VIEW for name in files):
            raise DataError(
                f"{path}: holds no labels, so its answers have no names; export packs them in, as metadata writers do"
            )
        [subgraph, *_] = described.tables(3)
        [image, *_] = subgraph.tables(2)
        outputs = subgraph.tables(3)
        labels = next(text for name, text in files.items() if name in _label_files(outputs, described, files))
        mean, deviation = _normalization(image)
        view = json.loads(files.get(VIEW, "{}"))
    except (ValueError, struct.error, StopIteration, IndexError) as error:
        said = f"is damaged or cut off, its metadata cannot be read ({type(error).__name__}: {error})"
        raise DataError(f"{path}: {said}") from None
    names = tuple(output.text(0) for output in outputs)
    return LiteMetadata(tuple(labels.splitlines()), tuple(mean), tuple(deviation), names, view)


def _described(data: bytes) -> FlatTable | None:
    model = FlatTable.root(data)
    for entry in model.tables(6):
        if entry.text(0) == METADATA:
            return FlatTable.root(model.tables(4)[entry.number(1)].bytes(0))
    return None


def _packed_files(path: Path) -> dict[str, str]:
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode("utf-8") for name in archive.namelist()}


def _label_files(outputs: list[FlatTable], described: FlatTable, files: dict[str, str]) -> set[str]:
    """By what is said of the outputs; if nothing is, all that is packed in."""
    named = {file.text(0) for table in [*outputs, described] for file in table.tables(6)}
    return named or set(files) - {VIEW}


def _normalization(image: FlatTable) -> tuple[list[float], list[float]]:
    for unit in image.tables(4):
        options = unit.table(1)
        if unit.number(0, "<B") == NORMALIZATION and options:
            return options.floats(0), options.floats(1)
    return PIXELS
