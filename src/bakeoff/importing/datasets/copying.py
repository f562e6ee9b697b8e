"""A zip or a folder of somebody else's -> files in a folder of ours, none of them anywhere else.

A name that leaves the folder, a link, a file that would be written twice: the whole import is refused, with the name.
"""

import errno
import lzma
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from bakeoff.dataset.sources.parsing import quote
from bakeoff.dataset.sources.paths import (
    GONE,
    HEAD,
    IMAGE_SUFFIXES,
    LEAVES,
    LONGEST_NAME,
    LONGEST_PART,
    VIDEO_SUFFIXES,
    list_files,
)
from bakeoff.foundation.errors import DataError, WorkspaceError, one_line
from bakeoff.foundation.files import NO_REGULAR_FILE, open_regular
from bakeoff.foundation.formatting import CONTROL, make_printable

PIECE = 1 << 20  # bytes that are copied at once
MOST_FILES = 1_000_000
MOST_RATIO = 100  # a zip that unpacks to more times its size is a bomb,
SMALL = 100_000_000  # if these are more bytes than that
KEPT_FREE = 200_000_000  # bytes that the disk has left afterwards
DRIVE = re.compile(r"[A-Za-z]:")
OF_SYSTEMS = ("__MACOSX", "Thumbs.db", "desktop.ini")


def copy_whole(source: Path, into: Path, most_bytes: int, *, heads_only: bool = False) -> int:
    """Copy a folder's files, or a zip's, into an empty folder; return how many were left out as a system's own.

    With `heads_only`, pictures and films get the first bytes alone, by which they are recognised. Raises DataError and
    WorkspaceError; what was written until then is for the caller to remove.
    """
    if source.is_dir():
        return _copy_folder(source, into, most_bytes, heads_only)
    if not source.is_file():
        raise DataError(f"{source}: no such file or folder")
    try:
        with zipfile.ZipFile(source) as archive:
            return _unpack(archive, source, into, most_bytes, heads_only)
    except zipfile.BadZipFile as error:
        if _is_zip(source):
            raise DataError(f"{source}: broken zip: {_describe(error)}; download or export it again") from None
        remedy = "unpack other archives yourself and name their folder"
        raise DataError(f"{source}: must be a zip or a folder; {remedy}") from None
    except (zlib.error, lzma.LZMAError, EOFError, struct.error, ValueError, NotImplementedError) as error:
        raise DataError(f"{source}: broken zip: {_describe(error)}; download or export it again") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # bzip2 raises one without a number
            raise
        raise DataError(f"{source}: broken zip: {_describe(error)}; download or export it again") from None


def _describe(error: Exception) -> str:
    """Return what is wrong without the bytes of whole files, which may be taken for a name."""
    return make_printable(one_line(error))


def _is_zip(source: Path) -> bool:
    try:
        return zipfile.is_zipfile(source)
    except zipfile.BadZipFile:  # the part of a larger one
        return True


def is_of_system(name: str) -> bool:
    """Return whether a file is none of the dataset's: hidden, or left by macOS or Windows."""
    return any(part.startswith(".") or part in OF_SYSTEMS for part in PurePosixPath(name).parts)


def _unpack(archive: zipfile.ZipFile, source: Path, into: Path, most_bytes: int, heads_only: bool) -> int:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MOST_FILES:
        raise DataError(f"{source}: holds {len(entries):,} files, more than {MOST_FILES:,}; divide it")
    names = [_require_name(source, entry) for entry in entries]
    _require_apart(source, names)
    wanted = [(entry, name) for entry, name in zip(entries, names, strict=True) if not is_of_system(name)]
    total, packed = sum(entry.file_size for entry, _ in wanted), source.stat().st_size
    if total > SMALL and total > MOST_RATIO * packed:
        raise DataError(
            f"{source}: {packed:,} bytes would unpack to {total:,}, more than {MOST_RATIO} times as many; "
            "no pictures pack so well, so nothing was unpacked"
        )
    require_room(into, total, most_bytes, source)
    for entry, name in wanted:
        try:
            with archive.open(entry) as file:
                _write(file, into / name, _choose_length(name, entry.file_size, heads_only))
        except (RuntimeError, NotImplementedError) as error:  # a password, or a way of packing that Python lacks
            raise DataError(
                f"{source}: {quote(name)} cannot be unpacked: {_describe(error)}; pack it without"
            ) from None
    return len(entries) - len(wanted)


def _require_name(source: Path, entry: zipfile.ZipInfo) -> str:
    """Return where an entry belongs; Raise DataError unless that is a plain file below the folder."""
    name = entry.orig_filename.replace("\\", "/")
    parts = PurePosixPath(name).parts
    why = None
    if name.startswith("/") or DRIVE.match(name) or ".." in parts:
        why = LEAVES
    elif CONTROL.search(name) or not parts:
        why = "its name has control characters"
    elif len(name) > LONGEST_NAME:
        why = f"its name has more than {LONGEST_NAME:,} characters"
    elif any(len(os.fsencode(part)) > LONGEST_PART for part in parts):
        why = f"its name has a part of more than {LONGEST_PART} bytes"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if why is None and kind not in (0, stat.S_IFREG):
        why = "a link" if kind == stat.S_IFLNK else "no plain file"
    if why:
        raise DataError(f"{source}: {quote(name)}: {why}; nothing was unpacked, pack it without that")
    return PurePosixPath(name).as_posix()


def _require_apart(source: Path, names: list[str]) -> None:
    """Refuse a name that is there twice, and a file that is also a folder."""
    files: set[str] = set()
    for name in names:
        if name in files:
            raise DataError(f"{source}: {quote(name)} is in it twice; nothing was unpacked, pack it again")
        files.add(name)
    for name in names:
        if any(str(above) in files for above in PurePosixPath(name).parents):
            raise DataError(f"{source}: {quote(name)} lies in what is a file; nothing was unpacked, pack it again")


def _copy_folder(source: Path, into: Path, most_bytes: int, heads_only: bool) -> int:
    if into.resolve().is_relative_to(source.resolve()):
        raise DataError(f"{source}: would be copied into itself, to {into}; name the dataset's own folder")
    names = list(_list_plain_files(source))
    wanted = [name for name in names if not is_of_system(name)]
    try:
        sizes = {name: os.path.getsize(source / name) for name in wanted}
        require_room(into, sum(sizes.values()), most_bytes, source)
        for name, size in sizes.items():
            length = _choose_length(name, size, heads_only)
            with open_regular(source / name) as file:
                copied = _write(file, into / name, length)
                if copied < length or (length == size and file.read(1)):
                    raise DataError(f"{source}: {name}: another length while it was copied; run the same command again")
    except OSError as error:
        is_another = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP) or error.strerror == NO_REGULAR_FILE
        if not is_another or not str(error.filename).startswith(str(source)):
            raise
        raise DataError(f"{make_printable(str(error.filename))}: {GONE}") from None
    return len(names) - len(wanted)


def _choose_length(name: str, size: int, heads_only: bool) -> int:
    is_media = PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES | VIDEO_SUFFIXES
    return min(size, HEAD) if heads_only and is_media else size


def _list_plain_files(source: Path) -> Iterator[str]:
    for number, (name, problem) in enumerate(list_files(source), start=1):
        if problem:
            raise DataError(f"{source}: {make_printable(name)}: {problem}; nothing was copied")
        if number > MOST_FILES:
            raise DataError(f"{source}: holds more than {MOST_FILES:,} files; divide it")
        yield name


def require_room(into: Path, needed: int, most_bytes: int, source: Path) -> None:
    """Refuse what is larger than is allowed, or than the disk has room for."""
    if needed > most_bytes:
        raise DataError(
            f"{source}: has {needed / 1e9:,.1f} GB, more than the {most_bytes / 1e9:,.3g} GB that are taken; "
            "raise --max-gb if that is meant"
        )
    free = shutil.disk_usage(into).free
    if needed + KEPT_FREE > free:
        raise WorkspaceError(
            f"no space left on the disk for {into.parent.as_posix()}: {source} needs {needed / 1e9:,.2f} GB, "
            f"{free / 1e9:,.2f} GB are free; free some and run the same command again"
        )


class _Bounded:
    """The beginning of a file, which may be larger by now."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file, self._left = file, length

    def read(self, length: int = PIECE, /) -> bytes:
        data = self._file.read(min(length, self._left))
        self._left -= len(data)
        return data


def _write(file: IO[bytes], path: Path, length: int) -> int:
    """Write the first bytes of a file to a new one, and return how many there are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as copy:
        shutil.copyfileobj(_Bounded(file, length), copy, PIECE)
        return copy.tell()
