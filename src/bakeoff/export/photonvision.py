"""Exported files -> photonvision.zip, which PhotonVision's page imports at once: model, labels and properties.

    ball_1356d7d3-640-640-yolov8.tflite   ball_1356d7d3-640-640-yolov8-labels.txt   …-licences.txt
    photonvision-object-detection-models.json   {"modelPathToProperties": {"file:///opt/…": {"family": "RUBIK", …}}}

The names are those that its public source asks for; docs/robot.md has the facts and where they stand. Releases of 2026
read `modelPathToProperties`, and the code after them still does.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from bakeoff.export.devices import DeviceName
from bakeoff.export.foreign_models import errors_naming, require_labels
from bakeoff.export.tflite_metadata import LABELS, NO_DATE
from bakeoff.foundation.errors import DataError

ARCHIVE = "photonvision.zip"
PROPERTIES = "photonvision-object-detection-models.json"
MAP = "modelPathToProperties"
FOLDER = "file:///opt/photonvision/photonvision_config/models/"  # of a coprocessor, as its installer makes it
SIDE, VERSION, MODEL_OF_VERSION = 640, "YOLOV8", "yolov8"  # whose arrangement of outputs the two layouts have
MOST_BYTES = 200_000_000  # of a file in an archive
NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9._]+")
LONGEST_NAME = 60


@dataclass(frozen=True)
class ModelFamily:
    """What PhotonVision calls a processor, and how the names of its models end."""

    family: Literal["RKNN", "RUBIK"]
    suffix: str


BACKENDS: Mapping[DeviceName, ModelFamily] = {
    "photonvision_rk3588": ModelFamily("RKNN", ".rknn"),
    "photonvision_rubik": ModelFamily("RUBIK", ".tflite"),
}


def write_archive(
    device: DeviceName, model: Path, name: str, labels: Sequence[str], licences: Sequence[str], path: Path
) -> None:
    """Pack a model; `name` is what the page shows. The same files give the same bytes."""
    backend = BACKENDS[device]
    nickname = NOT_IN_NAMES.sub("_", name).strip("._")[:LONGEST_NAME] or "model"
    stem = f"{nickname}-{SIDE}-{SIDE}-{MODEL_OF_VERSION}"
    place = f"{FOLDER}{stem}{backend.suffix}"
    properties = {
        "modelPath": place, "nickname": nickname, "labels": list(labels),
        "resolutionWidth": SIDE, "resolutionHeight": SIDE, "family": backend.family, "version": VERSION,
    }  # fmt: skip
    files = {
        f"{stem}{backend.suffix}": model.read_bytes(),
        f"{stem}-labels.txt": "".join(f"{label}\n" for label in labels).encode(),
        f"{stem}-licences.txt": "".join(f"{line}\n" for line in licences).encode(),
        PROPERTIES: json.dumps({MAP: {place: properties}}, indent=1).encode(),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, data in files.items():
            archive.writestr(zipfile.ZipInfo(file, NO_DATE), data)


@contextmanager
def unpacked(path: Path, device: DeviceName) -> Iterator[tuple[Path, list[str]]]:
    """Give the model of an archive as a file for the time of the block, and the labels it is listed with."""
    with errors_naming(path, "is no archive that PhotonVision imports"), zipfile.ZipFile(path) as archive:
        listed = json.loads(_read(archive, path, PROPERTIES)).get(MAP)
        if not isinstance(listed, dict) or len(listed) != 1:
            raise DataError(f"{path}: {PROPERTIES}: {MAP}: must list one model, as export writes it")
        [(place, properties)] = listed.items()
        name, labels = _require_properties(path, place, properties, BACKENDS[device])
        data = _read(archive, path, name)
        beside = _read(archive, path, f"{Path(name).stem}-{LABELS}").decode().splitlines()
    if beside != labels:
        raise DataError(f"{path}: {Path(name).stem}-{LABELS} and {PROPERTIES} have other labels; export it again")
    with TemporaryDirectory() as folder:
        model = Path(folder) / name
        model.write_bytes(data)
        yield model, labels


def _require_properties(
    path: Path, place: str, properties: Mapping[str, Any], backend: ModelFamily
) -> tuple[str, list[str]]:
    """Return the name of the listed model's file, and its labels."""
    wanted = {
        "modelPath": place, "resolutionWidth": SIDE, "resolutionHeight": SIDE, "family": backend.family,
        "version": VERSION,
    }  # fmt: skip
    for key, value in wanted.items():
        if properties.get(key) != value:
            raise DataError(f"{path}: {PROPERTIES}: {key}: must be {value!r}, got {properties.get(key)!r}")
    require_labels(path, properties.get("labels") or ())
    name = place.removeprefix(FOLDER)
    if "/" in name or "\\" in name or not name.endswith(backend.suffix):
        raise DataError(f"{path}: {PROPERTIES}: modelPath: must be {FOLDER}NAME{backend.suffix}, got {place!r}")
    return name, list(properties["labels"])


def _read(archive: zipfile.ZipFile, path: Path, name: str) -> bytes:
    if name not in archive.namelist():
        raise DataError(f"{path}: holds no {name}, which PhotonVision reads; export it again")
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise DataError(f"{path}: {name}: must have at most {MOST_BYTES:,} bytes; export it again")
    return archive.read(name)
