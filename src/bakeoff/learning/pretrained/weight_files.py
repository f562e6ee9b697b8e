"""Weights in files of other programs and other runs, by layer and variable: read with h5py, nothing in them is run.

A `.weights.h5` of Keras 3 numbers a layer's variables; an older `.h5`, and that of a whole model, names them; a
`.keras` holds the first kind in an archive. A `.pth` of torch and a `.safetensors` have tensors by their names, as
torch has them (`torch_layers.py`).
`stored[layer][variable]` finds each by its name or its number. Variables have the names of Keras 3, also in files of
Keras 2, and numbered layers (`conv2d_17`) are counted from 0.
"""

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import h5py
import numpy as np

from bakeoff.foundation.errors import DataError
from bakeoff.learning.checkpoints import checkpoint
from bakeoff.learning.pretrained.safetensors_files import is_safetensors, read_safetensors
from bakeoff.learning.pretrained.stored import Layers, Stored, WrongTensors
from bakeoff.learning.pretrained.torch_files import OLD_START, is_torch, read_tensors
from bakeoff.learning.pretrained.torch_layers import layers_of_tensors

LARGEST_MEMBER = 2**34  # bytes of weights in an archive
MEMBER = "model.weights.h5"
NUMBERED = re.compile(r"(conv2d|batch_normalization)(?:_(\d+))?")  # Keras counts them through the whole process
UNREADABLE = (  # what h5py and zipfile raise for what a file may hold
    OSError, EOFError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@contextmanager
def open_weights(path: Path) -> Iterator[Layers]:
    try:
        with ExitStack() as files:
            if zipfile.is_zipfile(path) and is_torch(files.enter_context(zipfile.ZipFile(path))):
                yield layers_of_tensors(read_tensors(path))
            elif zipfile.is_zipfile(path):
                folder = Path(files.enter_context(tempfile.TemporaryDirectory(prefix="bakeoff-")))
                yield _count_from_0(_of_keras(files.enter_context(h5py.File(_unpacked(path, folder), "r"))))
            elif h5py.is_hdf5(path):
                file = files.enter_context(h5py.File(path, "r"))
                group = file["model_weights"] if file.get("model_weights", getlink=True) else file
                layers = _of_older_keras(group) if "layer_names" in group.attrs else _of_keras(file)
                yield _count_from_0(layers)
            elif is_safetensors(path):
                yield layers_of_tensors(read_safetensors(path))
            elif checkpoint.is_one(path):
                yield _of_own(path)
            elif files.enter_context(path.open("rb")).read(len(OLD_START)) == OLD_START:
                raise WrongTensors("it is of torch before 1.6; load and save it with a newer one")
            else:
                raise ValueError("neither HDF5 nor an archive")
    except WrongTensors as error:
        raise DataError(f"{path.as_posix()}: cannot be read as weights: {error}") from None
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or "it ends too early"
        raise DataError(
            f"{path.as_posix()}: cannot be read as weights ({reason}); it is truncated or no file of weights"
        ) from None


def _unpacked(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        if MEMBER not in archive.namelist():
            raise ValueError(f"the archive has no {MEMBER}")
        size = archive.getinfo(MEMBER).file_size
        if size > min(LARGEST_MEMBER, shutil.disk_usage(folder).free):
            raise ValueError(f"{MEMBER} is said to take {size / 1e9:.1f} GB")
        with archive.open(MEMBER) as packed, (folder / MEMBER).open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return folder / MEMBER


def _of_keras(file: h5py.File) -> Layers:
    """`…/<any group, with the layer's name as an attribute>/vars/<number>`."""
    layers: dict[str, dict[str, Stored]] = {}

    def walk(group: h5py.Group, name: str) -> None:
        for key in group:
            inside = _inside(group, key)
            if not isinstance(inside, h5py.Group):
                continue
            if key == "vars":
                layer = str(inside.attrs.get("name", group.attrs.get("name", name)))
                layers.setdefault(layer, {}).update({number: _stored(inside, number) for number in inside})
            elif key != "optimizer":
                walk(inside, key)

    walk(file, "")
    return layers


def _of_older_keras(group: h5py.Group) -> Layers:
    """`<layer>/<weight name>`; the names end in layer and variable, also inside a layer that is a network."""
    layers: dict[str, dict[str, Stored]] = {}
    for outer in _texts(group.attrs["layer_names"]):
        inside = _inside(group, outer)
        for name in _texts(inside.attrs["weight_names"]):
            *above, variable = name.split(":")[0].split("/")
            layers.setdefault(above[-1] if above else outer, {})[variable] = _stored(inside, name)
    for variables in layers.values():
        if "depthwise_kernel" in variables and "pointwise_kernel" not in variables:  # Keras 2 of a DepthwiseConv2D
            variables["kernel"] = variables.pop("depthwise_kernel")
    return layers


def _count_from_0(layers: Layers) -> Layers:
    """Name numbered layers as if the network had been the first of its process, as networks here do."""
    names: dict[str, str] = {}
    for kind in ("conv2d", "batch_normalization"):
        matches = filter(None, map(NUMBERED.fullmatch, layers))
        numbered = [(int(match[2] or 0), match[0]) for match in matches if match[1] == kind]
        names |= {name: f"{kind}_{place}" if place else kind for place, (_, name) in enumerate(sorted(numbered))}
    return {names.get(name, name): variables for name, variables in layers.items()}


def _of_own(path: Path) -> Layers:
    """A checkpoint or best weights in `.bakeoff/`."""
    saved = checkpoint.read(path)
    layers: dict[str, dict[str, Stored]] = {}
    for name, weight in saved.facts["paths"].items():
        *above, variable = weight.split("/")
        array = saved.arrays[name]
        layers.setdefault(above[-1], {})[variable] = Stored(array.shape, lambda array=array: array)  # type: ignore[misc]
    return layers


def _inside(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset:
    """What the file itself holds; a link may name any file of this machine."""
    place = group
    *above, last = name.split("/")
    for part in above:
        place = _inside(place, part)
    if not isinstance(place.get(last, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is a link or missing")
    return place[last]


def _stored(group: h5py.Group, name: str) -> Stored:
    data = _inside(group, name)
    if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "fiub" or data.external or data.is_virtual:
        raise ValueError(f"{name} holds no plain numbers")
    return Stored(tuple(data.shape), lambda: data[()])


def _texts(names: np.ndarray) -> list[str]:
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]
