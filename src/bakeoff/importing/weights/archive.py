"""A fetched file -> a folder with what training starts from: a checkpoint or HDF5, and nothing of an archive's rest."""

import errno
import gzip
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

import h5py

from bakeoff.foundation.errors import DataError
from bakeoff.foundation.formatting import format_names
from bakeoff.learning.pretrained.torch_files import is_torch
from bakeoff.learning.pretrained.weight_source import PACKED, SAME_ARCHIVE

WANTED = re.compile(r".*(\.index|\.data-\d{5}-of-\d{5}|\.ckpt|\.h5|\.config)|checkpoint|LICENSE.*")
STARTS = re.compile(r".*(\.index|\.ckpt|\.h5)")  # of which one must be there
LARGEST = 2**34  # bytes, unpacked
SHOWN = 5
DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
)  # fmt: skip


@dataclass(frozen=True)
class Member:
    name: str
    size: int
    is_plain: bool  # a file or a folder, no link and no device
    is_folder: bool
    open: Callable[[], IO[bytes] | None]  # None of what is not plain


def unpack(file: Path, folder: Path) -> None:
    """Refuse what holds no start; copy a file of HDF5 or of torch as it is."""
    if h5py.is_hdf5(file):
        shutil.copyfile(file, folder / "weights.h5")
        return
    if _is_of_torch(file):
        shutil.copyfile(file, folder / "weights.pth")
        return
    try:
        with _open_archive(file) as members:
            _unpack(members, file.name, folder)
    except DataError:
        raise
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: a place before its begin
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{file.name}: cannot be unpacked ({reason}); it is truncated or damaged") from None


def _is_of_torch(file: Path) -> bool:
    if not zipfile.is_zipfile(file):
        return False
    with suppress(*DAMAGE, OSError), zipfile.ZipFile(file) as packed:  # what is damaged is said by who unpacks it
        return is_torch(packed)
    return False


@contextmanager
def _open_archive(file: Path) -> Iterator[list[Member]]:
    if tarfile.is_tarfile(file):
        with tarfile.open(file) as tar:
            yield [
                Member(one.name, one.size, one.isreg() or one.isdir(), one.isdir(), partial(tar.extractfile, one))
                for one in tar.getmembers()
            ]
    elif zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as packed:
            yield [
                Member(one.filename, one.file_size, _is_plain(one), one.is_dir(), partial(packed.open, one))
                for one in packed.infolist()
            ]
    else:
        with file.open("rb") as content:
            begin = content.read(16)
        raise DataError(f"{file.name}: is neither an archive nor HDF5, it begins with {begin!r}")


def _is_plain(member: zipfile.ZipInfo) -> bool:
    kind = member.external_attr >> 28  # of the file's mode, where a Unix has packed it
    return kind in (0, 0o10, 0o4)


def _unpack(members: list[Member], name: str, folder: Path) -> None:
    for member in members:
        _require_safe(member, name)
    wanted = [one for one in members if not one.is_folder and WANTED.fullmatch(PurePosixPath(one.name).name)]
    _require_start([one.name for one in members if not one.is_folder], name)
    if (total := sum(one.size for one in wanted)) > min(LARGEST, shutil.disk_usage(folder).free):
        raise DataError(f"{name}: takes {total / 1e9:.1f} GB unpacked, which is more than there is room for")
    for member in wanted:
        target = folder.joinpath(*_inner(member.name, [one.name for one in wanted]))
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = member.open()
        assert packed is not None
        with packed, target.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)


def _inner(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a path without the folder that holds all of the archive."""
    paths = [PurePosixPath(one).parts for one in names]
    parts = PurePosixPath(name).parts
    alone = len({path[0] for path in paths}) == 1 and all(len(path) > 1 for path in paths)
    return parts[1:] if alone and parts[0] != "checkpoint" else parts


def _require_safe(member: Member, name: str) -> None:
    path = PurePosixPath(member.name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in member.name or ":" in member.name
    if outside or not member.is_plain:
        what = "a path outside of it" if outside else "a link or a device"
        raise DataError(f"{name}: holds {what}, {member.name!r}; nothing of it was unpacked, take it from elsewhere")


def _require_start(names: Sequence[str], name: str) -> None:
    starts = [one for one in names if STARTS.fullmatch(PurePosixPath(one).name)]
    for one in starts:
        prefix = one.removesuffix(".index")
        if prefix != one and not any(other.startswith(f"{prefix}.data-") for other in names):
            raise DataError(f"{name}: holds {one}, but no {PurePosixPath(prefix).name}.data-…; it is incomplete")
    if starts:
        return
    if packed := next((one for one in names if one.endswith(PACKED)), None):
        raise DataError(f"{name}: holds another archive, {packed}; unpack that, and put it in the place of this one")
    if any(one.endswith(".pb") for one in names):
        raise DataError(f"{name}: holds a frozen graph or SavedModel, which cannot be trained on; take {SAME_ARCHIVE}")
    few = format_names(names, SHOWN) or "nothing"
    raise DataError(f"{name}: holds no checkpoint (.index and .data-…) and no .h5, only {few}")
