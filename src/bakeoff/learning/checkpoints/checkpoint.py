"""Arrays and facts as one file that is whole or refused: `write` and `read`.

Layout: a line that names the format, the length of the head as eight bytes, the head (JSON: the facts; name, type,
shape and BLAKE2 digest of every array), the head's digest, then the arrays' bytes one after the other. Reading runs
nothing that a file says, so a hostile file is at most refused.
"""

import hashlib
import json
import math
import operator
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.files import sync_names

FORMAT = b"bakeoff checkpoint 1\n"
DIGEST_BYTES = 32
LONGEST_HEAD = 2**28
PARTIAL = ".partial"


class Damaged(DataError):
    """A file that is not what was written."""


class Missing(Damaged):
    """A file that is not there. Nothing is known to be wrong with what it holds."""


@dataclass(frozen=True)
class Checkpoint:
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> None:
    """Beside, synced, renamed: a kill at any moment leaves what was there before or the new file, whole."""
    flat = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    entries = [
        {"name": name, "type": array.dtype.str, "shape": array.shape, "digest": _digest(_bytes_of(array)).hex()}
        for name, array in flat.items()
    ]
    head = json.dumps({"facts": facts, "arrays": entries}).encode()
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            for part in (FORMAT, len(head).to_bytes(8, "little"), head, _digest(head)):
                file.write(part)
            for array in flat.values():
                file.write(_bytes_of(array))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(path)
    sync_names(path.parent)


def is_one(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(FORMAT)) == FORMAT


def read(path: Path) -> Checkpoint:
    with _opened(path) as file:
        return _read(file, path)


def read_facts(path: Path) -> dict[str, Any]:
    """Alone, however large the arrays are."""
    with _opened(path) as file:
        return _head(file, path)["facts"]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise Missing(f"{path.as_posix()}: is not there") from None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise Damaged(f"{path.as_posix()}: damaged ({error})") from None
    except (OSError, MemoryError) as error:  # the file itself may be whole
        raise WorkspaceError(
            f"{path.as_posix()}: cannot be read now ({getattr(error, 'strerror', None) or 'no memory'}), and stays as "
            "it is; mend that and run the same command again, or delete the file to train from an earlier one"
        ) from None


def _head(file: BinaryIO, path: Path) -> dict[str, Any]:
    if file.read(len(FORMAT)) != FORMAT:
        raise Damaged(f"{path.as_posix()}: no checkpoint of this version of bakeoff")
    length = int.from_bytes(_exactly(file, 8), "little")
    if length > LONGEST_HEAD:
        raise ValueError("its head has no sensible length")
    head = _exactly(file, length)
    if _digest(head) != _exactly(file, DIGEST_BYTES):
        raise ValueError("the digest of its head is another")
    return json.loads(head)


def _read(file: BinaryIO, path: Path) -> Checkpoint:
    content = _head(file, path)
    arrays = {}
    for entry in content["arrays"]:
        kind, shape = np.dtype(entry["type"]), tuple(map(operator.index, entry["shape"]))
        if kind.hasobject or min(shape, default=0) < 0:
            raise ValueError(f"{entry['name']} is no array of numbers")
        data = _exactly(file, kind.itemsize * math.prod(shape))
        if _digest(data).hex() != entry["digest"]:
            raise ValueError(f"the digest of {entry['name']} is another")
        arrays[entry["name"]] = np.frombuffer(data, kind).reshape(shape)
    if file.read(1):
        raise ValueError("it is longer than it says")
    return Checkpoint(content["facts"], arrays)


def _exactly(file: BinaryIO, count: int) -> bytes:
    if count > os.fstat(file.fileno()).st_size - file.tell():  # before memory is taken for it
        raise ValueError("it ends too early")
    return file.read(count)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _digest(data: bytes | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
