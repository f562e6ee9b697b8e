"""Tensors in files of the form safetensors: a header in JSON says where the numbers of each stand, and nothing is run.

8 bytes, the length of the header; {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}; numbers
"""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.learning.pretrained.stored import WrongTensors

LARGEST_HEADER = 100 * 10**6  # bytes, as in the published reader
LENGTH = 8
BFLOAT16 = "BF16"
KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", BFLOAT16: "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U8": "u1", "BOOL": "?",
}  # fmt: skip
ABOUT, INDEX = "__metadata__", "weight_map"


def is_safetensors(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix == ".safetensors" or file.read(LENGTH + 1)[LENGTH:] == b"{" or path.suffix == ".json"


def read_safetensors(path: Path) -> Mapping[str, tuple[tuple[int, ...], Callable[[], np.ndarray]]]:
    """Return shape and reader of each tensor by its name. Raises WrongTensors for what is none of these files."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(LENGTH)
        length = int.from_bytes(start, "little")
        if path.suffix == ".json" or (b"{" in start and b"\0" not in start):
            raise WrongTensors("it is no safetensors but JSON; an index of several files is not read, join them to one")
        if len(start) < LENGTH or not 2 <= length <= min(size - LENGTH, LARGEST_HEADER):
            raise WrongTensors(f"its header is said to have {length} bytes, of {size} bytes of the file")
        header = _header(file.read(length))
    entries = {name: _entry(name, one) for name, one in header.items() if name != ABOUT}
    if not entries:
        raise WrongTensors("it holds no tensors")
    _require_gapless([offsets for *_, offsets in entries.values()], size - LENGTH - length)
    base = LENGTH + length

    def reader(kind: str, shape: tuple[int, ...], begin: int) -> Callable[[], np.ndarray]:
        return lambda: _read(path, base + begin, kind, shape)

    return {name: (shape, reader(kind, shape, begin)) for name, (kind, shape, (begin, _)) in entries.items()}


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text, object_pairs_hook=_once)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise WrongTensors("its header is no JSON") from None
    if not isinstance(header, dict):
        raise WrongTensors("its header is no JSON object")
    return header


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise WrongTensors("its header names something twice")
    return dict(pairs)


def _entry(name: str, entry: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    given: dict[str, Any] = entry if isinstance(entry, dict) else {}
    kind: Any
    shape: Any
    offsets: Any
    kind, shape, offsets = given.get("dtype"), given.get("shape"), given.get("data_offsets")
    if kind not in KINDS:
        raise WrongTensors(f"{name} has numbers of the kind {kind!r}, which are not known")
    if not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
        raise WrongTensors(f"{name} has no shape and place in whole numbers")
    begin, end = offsets
    if end - begin != math.prod(shape) * np.dtype(KINDS[kind]).itemsize:
        raise WrongTensors(f"{name} has {end - begin} bytes, which is not what its shape {shape} takes")
    return kind, tuple(shape), (begin, end)


def _are_counts(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(one) is int and one >= 0 for one in numbers)


def _require_gapless(places: list[tuple[int, int]], size: int) -> None:
    """Tensors lie one behind the other, from the first byte to the last one."""
    last = 0
    for begin, end in sorted(places):
        if begin != last:
            raise WrongTensors("its tensors overlap" if begin < last else "there are bytes of no tensor")
        last = end
    if last != size:
        raise WrongTensors(
            f"its tensors end at byte {last} of {size}; the file is {'cut' if last > size else 'longer'}"
        )


def _read(path: Path, start: int, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    array = np.fromfile(path, KINDS[kind], math.prod(shape), offset=start).reshape(shape)
    if kind == BFLOAT16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32) if array.dtype.kind == "f" else array
