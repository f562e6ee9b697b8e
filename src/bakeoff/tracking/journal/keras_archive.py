"""A checkpoint as a Keras archive, which holds the weights, and the rest beside it: taken apart, and joined again.

    model.keras     the network and its weights, as Keras saves a model: a zip without compression
    the rest        the bytes of the checkpoint without the arrays that the archive holds

Both together give the checkpoint back to the bit, so no weight is stored twice. Nothing here needs TensorFlow.
"""

import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bakeoff.foundation.plain_values import load_fields
from bakeoff.learning.checkpoints.checkpoint import DIGEST_BYTES, FORMAT
from bakeoff.learning.networks.quantized.scales import LAYER

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"  # Keras' own names in an archive
MADE = (1980, 1, 1, 0, 0, 0)  # of all files in an archive, so that equal weights are equal bytes
HEAD = len(FORMAT) + 8  # bytes before a checkpoint's head, which end in its length


@dataclass(frozen=True)
class Weight:
    """A weight of a network, and where Keras looks for it."""

    path: str
    place: str  # in the file of weights
    type: str  # as NumPy writes it, such as <f4
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ArchiveLayout:
    """The archive of a network, without its weights."""

    config: str
    metadata: str
    weights: tuple[Weight, ...]  # in the network's order
    groups: Mapping[str, Any]  # attributes of the groups in the file of weights, by their paths
    states: Mapping[str, Any]  # what it holds besides, such as seeds: type and values, by their paths

    @classmethod
    def read(cls, file: Path) -> "ArchiveLayout":
        return load_fields(cls, json.loads(file.read_text(encoding="utf-8")))

    def match(self, facts: Mapping[str, Any], arrays: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Return the place of each array that is a weight. Raises ValueError if the weights are another network's.

        They are matched by their order, for names that Keras makes up differ from one process to the next.
        """
        every: Mapping[str, str] = facts.get("paths", {})
        # Ranges of eight bits are in the rest: Keras' own layers have none, so the archive is the network in floats.
        paths = {name: path for name, path in every.items() if not path.startswith(f"{LAYER}/")}
        if len(paths) != len(self.weights):
            raise ValueError(f"it has {len(paths):,} weights, the network has {len(self.weights):,}")
        for name, weight in zip(sorted(paths), self.weights, strict=True):
            has = arrays[name]["type"], tuple(arrays[name]["shape"]), paths[name].rpartition("/")[2]
            if has != (weight.type, weight.shape, weight.path.rpartition("/")[2]):
                raise ValueError(f"its weight {paths[name]} is {has[0]} {has[1]}, not {weight.type} {weight.shape}")
        return {name: weight.place for name, weight in zip(sorted(paths), self.weights, strict=True)}


def take_apart(checkpoint: Path, layout: ArchiveLayout, archive: Path, rest: Path) -> dict[str, str]:
    """Write a checkpoint as an archive and the rest. Return which arrays are in the archive, with their places there.

    Raises ValueError for a checkpoint of another network, and of an earlier version that does not name its weights.
    """
    import h5py

    with checkpoint.open("rb") as file:
        start, head = _read_head(file)
        entries = {entry["name"]: entry for entry in head["arrays"]}
        places = layout.match(head["facts"], entries)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            weights = Path(folder) / WEIGHTS
            with h5py.File(weights, "w") as stored, rest.open("wb") as other:
                _begin_weights(stored, layout)
                other.write(start)
                for entry in entries.values():
                    data = file.read(_count_bytes(entry))
                    if place := places.get(entry["name"]):
                        stored.create_dataset(place, data=np.frombuffer(data, entry["type"]).reshape(entry["shape"]))
                    else:
                        other.write(data)
            _write_archive(layout, weights, archive)
    return places


def join(rest: Iterable[bytes], archive: Path, places: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the bytes of a checkpoint. Raises ValueError if the archive or the rest is not what was written."""
    import h5py

    stream = _Stream(iter(rest))
    start = stream.read(HEAD)
    start += stream.read(int.from_bytes(start[-8:], "little") + DIGEST_BYTES)
    yield start
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        try:
            with zipfile.ZipFile(archive) as packed:
                weights = packed.extract(WEIGHTS, folder)
            with h5py.File(weights, "r") as stored:
                for entry in json.loads(start[HEAD:-DIGEST_BYTES])["arrays"]:
                    place = places.get(entry["name"])
                    yield stored[place][()].tobytes() if place else stream.read(_count_bytes(entry))
        except FileNotFoundError:
            raise ValueError(f"{archive.name} is gone") from None
        except (KeyError, OSError, RuntimeError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{archive.name}: {error}") from None


def _read_head(file: BinaryIO) -> tuple[bytes, dict[str, Any]]:
    """Return what stands before the arrays, as it is and as values."""
    start = file.read(HEAD)
    if not start.startswith(FORMAT):
        raise ValueError("it is no checkpoint of this version")
    start += file.read(int.from_bytes(start[-8:], "little") + DIGEST_BYTES)
    return start, json.loads(start[HEAD:-DIGEST_BYTES])


def _count_bytes(entry: Mapping[str, Any]) -> int:
    return np.dtype(entry["type"]).itemsize * prod(entry["shape"])


def _begin_weights(stored: Any, layout: ArchiveLayout) -> None:
    for path, attributes in layout.groups.items():
        stored.require_group(path or "/").attrs.update(attributes)
    for path, (kind, values) in layout.states.items():
        stored.create_dataset(path, data=np.array(values, kind))


def _write_archive(layout: ArchiveLayout, weights: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(zipfile.ZipInfo(METADATA, MADE), layout.metadata)
        packed.writestr(zipfile.ZipInfo(CONFIG, MADE), layout.config)
        entry = zipfile.ZipInfo(WEIGHTS, MADE)
        entry.file_size = weights.stat().st_size
        with packed.open(entry, "w") as place, weights.open("rb") as content:
            while part := content.read(2**20):
                place.write(part)


class _Stream:
    """Parts of a file, read as one."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._held = parts, memoryview(b"")

    def read(self, count: int) -> bytes:
        taken: list[memoryview] = []
        while count:
            if not self._held:
                self._held = memoryview(next(self._parts, b""))
            if not self._held:
                raise ValueError("it ends too early")
            taken.append(self._held[:count])
            self._held = self._held[count:]
            count -= len(taken[-1])
        return b"".join(taken)
