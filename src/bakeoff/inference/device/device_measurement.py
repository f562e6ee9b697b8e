"""A model file and images -> how fast another machine answers, and whether its answers are those of this machine."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bakeoff
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import VALIDATION
from bakeoff.dataset.records.shards import locate_examples, read_frame
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.export.nms_numpy import Predictions
from bakeoff.foundation.errors import DataError, WorkspaceError, one_line, show
from bakeoff.foundation.formatting import make_printable
from bakeoff.foundation.workspace import RECORDS
from bakeoff.inference.device.host import ANSWERS, BUNDLE, MEASURED, Host
from bakeoff.inference.predict.light_runtime import small_model, view_of
from bakeoff.inference.predict.read_images import decode_stored, is_video, read_image, sources
from bakeoff.inference.predict.resize_numpy import fit

# What the benchmark imports of this project; tests/inference/device/test_device_measurement.py fails if one is missing.
MODULES = (
    "__init__", "foundation/__init__", "foundation/errors", "foundation/versions", "foundation/tf_loading",
    "foundation/formatting", "foundation/signals", "foundation/address_space", "export/__init__",
    "export/foreign_models", "export/flatbuffer", "export/tflite_metadata", "export/tflite_run", "export/onnx_run",
    "export/nms_numpy", "export/head_maps", "inference/__init__", "inference/device/__init__",
    "inference/device/benchmark",
)  # fmt: skip
IMAGES = "images.npy"
OF_TIMES, OF_TEXT = ("p50", "p90", "p99", "most"), ("runtime", "machine", "system", "python")
LONGEST_TEXT = 200
MOST_TIMES, MOST_HEADERS = 10, 1_000_000  # of the bytes of this machine's answers, and of names and headers beside them
UNREADABLE = (
    KeyError, ValueError, IndexError, TypeError, OverflowError, RecursionError, NotImplementedError, EOFError,
    zipfile.BadZipFile, zlib.error, MemoryError, OSError, RuntimeError, SyntaxError, struct.error,
)  # fmt: skip
NO_DATE = (1980, 1, 1, 0, 0, 0)
NEAR = 0.01  # of a score, and of a share of the image; farther apart are other answers


@dataclass(frozen=True)
class Parity:
    """How the answers of a machine differ from those of this one."""

    images: int
    same: int  # images whose answers agree in number, classes, and up to `NEAR` in scores and boxes
    largest: float  # difference of a score, where number and classes agree

    def __str__(self) -> str:
        return f"the same answers to {self.same} of {self.images} images, scores differ by up to {self.largest:.2g}"


def measure_on(
    host: Host, path: Path, images: Sequence[np.ndarray], calls: int, threads: int
) -> tuple[dict[str, Any], Parity]:
    """Return what the benchmark printed there, and how its answers compare; `images` have any size."""
    if path.is_dir() or not path.is_file():
        raise DataError(f"{path}: must be a .tflite or .onnx file")
    model = small_model(path)
    view = view_of(model)
    shown = np.stack([np.rint(fit(image, view)) for image in images]).clip(0, 255).astype(np.uint8)
    own = [model.answer(image) for image in shown]
    packed = io.BytesIO()
    np.save(packed, shown)
    name = f"model{path.suffix}"
    files = {name: path.read_bytes(), IMAGES: packed.getvalue(), BUNDLE: make_bundle()}
    arguments = [name, IMAGES, ANSWERS, "--calls", str(calls), "--threads", str(threads)]
    made = host.run(files, arguments)
    try:
        measured = parse_measured(made[MEASURED].decode().splitlines()[-1])
        there = read_answers(made[ANSWERS], own)
    except UNREADABLE as error:
        reason = make_printable(f"{type(error).__name__}: {one_line(error)}")
        raise WorkspaceError(f"{host.name}: its answer cannot be read ({reason}); measure again") from None
    return measured, compare_answers(own, there)


def parse_measured(text: str) -> dict[str, Any]:
    """Return what a machine measured, if all of it is there. Raises ValueError or KeyError."""
    tree = json.loads(text)
    if not isinstance(tree, dict):
        raise ValueError(f"{MEASURED}: must be an object")
    times = {name: {key: _number(tree[name], key) for key in OF_TIMES} for name in ("answer_ms", "network_ms")}
    if not all(value > 0 for value in times["answer_ms"].values()):
        raise ValueError("answer_ms: must be above 0")
    numbers = {name: _number(tree, name) for name in ("load_s", "memory_mb")}
    counts = {name: int(_number(tree, name)) for name in ("calls", "threads", "cores") if tree[name] is not None}
    texts = {name: make_printable(str(tree[name])[:LONGEST_TEXT]) for name in OF_TEXT}
    return {"cores": None, **times, **numbers, **counts, **texts}


def _number(tree: Any, key: str) -> float:
    value = tree[key]
    if type(value) not in (int, float) or not 0 <= value < 1e12:
        raise ValueError(f"{key}: must be a number from 0, got {show(value)}")
    return float(value)


def read_answers(data: bytes, own: Sequence[Predictions]) -> list[Predictions]:
    """Return the answers of a machine. Raises ValueError if there are far more numbers than this one answers with."""
    size = sum(array.nbytes for detections in own for array in detections.values())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MOST_TIMES * size + MOST_HEADERS:
        raise ValueError(f"{ANSWERS}: unpacks to {unpacked:,} bytes, and the answers here have {size:,}")
    with np.load(io.BytesIO(data)) as answers:
        there = [{key: answers[f"{at}.{key}"] for key in detections} for at, detections in enumerate(own)]
    if not all(array.dtype.kind in "fiu" for detections in there for array in detections.values()):
        raise ValueError(f"{ANSWERS}: must hold numbers")
    return there


def make_bundle() -> bytes:
    """Return a zip archive with the code that the benchmark needs; the same bytes for the same code."""
    home = Path(next(iter(bakeoff.__path__)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for module in MODULES:
            archive.writestr(zipfile.ZipInfo(f"bakeoff/{module}.py", NO_DATE), (home / f"{module}.py").read_bytes())
    return packed.getvalue()


def compare_answers(own: Sequence[Predictions], there: Sequence[Predictions]) -> Parity:
    same, largest = 0, 0.0
    for here, other in zip(own, there, strict=True):
        if any(here[name].shape != other[name].shape for name in here):
            continue
        if "classes" in here and (here["classes"] != other["classes"]).any():
            continue
        numbers = [name for name in here if name != "classes"]
        apart = {name: float(np.abs(here[name] - other[name]).max(initial=0.0)) for name in numbers}
        largest = max(largest, *(value for name, value in apart.items() if name != "boxes"))
        same += max(apart.values()) <= NEAR
    return Parity(len(own), same, largest)


def find_images(paths: Sequence[str], count: int) -> list[np.ndarray]:
    """Return the pixels of so many images at even distances: of these paths, or else validation examples."""
    if not paths:
        return list(_read_validation(count))
    files = [source.path for source in sources(paths, None) if not is_video(source.path)]
    if not files:
        raise DataError("--images: no image is there")
    return [read_image(files[place]) for place in _choose(len(files), count)]


def _read_validation(count: int) -> list[np.ndarray]:
    if not (RECORDS / "manifest.json").is_file():
        raise WorkspaceError("measure: no validation images are here; run `dvc repro build_records`, or say --images")
    spans = locate_examples(RECORDS, read_manifest(RECORDS).splits[VALIDATION].shards)
    examples = []
    for place in _choose(len(spans), count):
        file, offset, length = spans[place]
        try:
            features = decode_features(read_frame(file, offset, length))
        except (OSError, ValueError) as error:
            raise DataError(f"{file.as_posix()}: {error}; build the records again") from None
        frames = [decode_stored(frame) for frame in frames_in(features)]
        examples.append(frames[0] if "image/encoded" in features else np.stack(frames))
    return examples


def _choose(available: int, count: int) -> list[int]:
    return [int(place) for place in np.linspace(0, available - 1, min(count, available)).round()]
