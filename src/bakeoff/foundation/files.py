"""Files and folders that are there whole or not at all, whatever kills the process or the machine."""

import csv
import errno
import hashlib
import io
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bakeoff.foundation.errors import DataError

OUT_OF_DVC = "`dvc checkout --force` brings a whole one from DVC's cache, `dvc pull --force` from a remote"
WHOLE_AGAIN = {  # where a file of weights is -> what brings a whole one
    "train": f"{OUT_OF_DVC}, `dvc repro --force train` makes it again",
    "export": f"{OUT_OF_DVC}, `dvc repro --force export` makes it again",
    "cache": "remove it from DVC's cache, then `dvc fetch` brings a whole one from a remote, and "
    "`dvc repro --force train` makes it again",
    "mlflow": "MLflow gave it so; `bakeoff track sync`, run where the run was made, sends a whole one",
    "zoo": "remove its folder, and `bakeoff weights get` with the folder's name brings a whole one",
}
NO_REGULAR_FILE = "no regular file, but a folder, a pipe, a socket or a device"


def write_whole(path: Path, text: str, *, lasting: bool = False) -> None:
    """Write the file and its folder. A `lasting` one is also there after the machine loses its power.

    The name beside is this process's own, for others may write the same file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)  # a link of that name, in a data set of somebody else, would be written through
    with partial.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    partial.replace(path)
    if lasting:
        sync_names(path.parent)


def remove_partial(path: Path) -> None:
    """Remove what a kill left of `write_whole` for this file."""
    for left in path.parent.glob(f"{path.name}.*.partial"):
        left.unlink(missing_ok=True)


def read_text(path: Path) -> str | None:
    """Return None for a file that is not there, or is no text."""
    try:
        return _read_regular(path)
    except (OSError, UnicodeDecodeError):
        return None


def _read_regular(path: Path) -> str:
    with io.TextIOWrapper(open_regular(path), encoding="utf-8") as file:
        return file.read()


def load_json(path: Path) -> dict[str, Any]:
    """Return the mapping that a file holds. Raises OSError, or ValueError with what is wrong with it."""
    try:
        tree = json.loads(_read_regular(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(tree, dict):
        raise ValueError("it holds no mapping")
    return tree


def read_json(path: Path) -> dict[str, Any]:
    """Return the mapping that a file holds; an empty one if it is not there, or damaged."""
    return parse_json(read_text(path))


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the mappings of a file that has one a line, without lines that a crash cut off."""
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    return [row for line in text.splitlines() if (row := parse_json(line))]


def parse_json(text: str | bytes | None) -> dict[str, Any]:
    """Return a mapping; an empty one of anything else."""
    try:
        tree = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def hash_file(path: Path, kind: str = "sha256") -> str:
    """Return the SHA-256 of a file, or its digest of another kind."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def require_whole(path: Path, digest: str | None, place: str = "train") -> None:
    """Compare a file of weights with the digest that names it, if one is known. Raises DataError for another.

    `place` is a key of `WHOLE_AGAIN`. DVC names what is in its cache by MD5, all else is named by SHA-256.
    """
    kind = "md5" if place == "cache" else "sha256"
    if digest is not None and (there := hash_file(path, kind)) != digest:
        name = {"md5": "MD5", "sha256": "SHA-256"}[kind]
        raise DataError(
            f"{path.as_posix()}: damaged, its {name} is {there[:12]}…, and it was written as {digest[:12]}…; "
            f"{WHOLE_AGAIN[place]}"
        )


def require_all_whole(digests: Mapping[Path, str], place: str) -> None:
    """Compare files with the digests that name them. Raises DataError for one that is missing or another."""
    for file, digest in digests.items():
        if not file.is_file():
            raise DataError(f"{file.as_posix()}: missing; {WHOLE_AGAIN[place]}")
        require_whole(file, digest, place)


def open_regular(path: str | Path) -> io.BufferedReader:
    """Open a file of somebody else to read it. Raises OSError for what is no regular file."""
    handle, _ = _open_handle(path)
    return os.fdopen(handle, "rb")


def read_regular(path: str | Path, require_length: Callable[[int], object]) -> bytes:
    """Return all of somebody else's file that has a fit length. Raises OSError, and ValueError for one that grows."""
    handle, length = _open_handle(path)
    try:
        require_length(length)
        data = os.read(handle, length + 1)
        while len(data) < length and (more := os.read(handle, length + 1 - len(data))):
            data += more
    finally:
        os.close(handle)
    if len(data) > length:
        raise ValueError("grows while it is read; end what writes it")
    return data


def _open_handle(path: str | Path) -> tuple[int, int]:
    """Open a regular file, and return how long it is, too. Raises OSError.

    A pipe would be waited for, and a device has no end. A name can be exchanged at any time, so the opened file counts.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a pipe that nobody writes
            raise _no_regular_file(path) from None
        raise
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        os.close(handle)
        raise _no_regular_file(path)
    return handle, state.st_size


def find_irregular(entry: os.DirEntry[str]) -> str | None:
    """Return why the name of a folder is neither a regular file nor a folder, also by links; None if it is one."""
    try:
        if entry.is_file() or entry.is_dir():
            return None
        entry.stat()
    except OSError as error:  # a link to nothing, or to itself
        return f"cannot be read: {error.strerror}"
    return NO_REGULAR_FILE


def _no_regular_file(path: str | Path) -> OSError:
    return OSError(errno.EINVAL, NO_REGULAR_FILE, str(path))


def link_or_copy(source: str | Path, place: str | Path) -> None:
    """Give a file a second name; copy it on a disk that has no links, or to another disk."""
    try:
        os.link(Path(source).resolve(), place)
    except OSError:
        shutil.copyfile(source, place)


def sync_file(path: Path) -> int:
    """Bring a file to the disk, and return how long it is there."""
    with path.open("rb+" if os.name == "nt" else "rb") as file:
        length = file.seek(0, os.SEEK_END)
        os.fsync(file.fileno())
        return length


def sync(path: Path) -> None:
    """Bring the file, or the folder with all that is in it, to the disk: a loss of power leaves it as it is."""
    if path.is_dir():
        for below in path.iterdir():
            sync(below)
        sync_names(path)
    else:
        sync_file(path)


def sync_names(folder: Path) -> None:
    """Bring to the disk which files the folder has. Windows and some network disks do that unasked, and refuse it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_disk(folder: Path) -> None:
    """Bring to the disk whatever anybody wrote to the file system of this folder, where the system can."""
    if os.name == "posix":
        import ctypes

        if not hasattr(library := ctypes.CDLL(None), "syncfs"):
            os.sync()
            return
        handle = os.open(folder, os.O_RDONLY)
        library.syncfs(handle)
        os.close(handle)


@contextmanager
def building(final: Path) -> Iterator[Path]:
    """Give an empty folder beside `final` that takes its place if the block succeeds and is gone if not.

    A kill or a loss of power at any moment leaves the old folder or the new one, never a mixture.
    """
    partial, old = final.with_name(f"{final.name}.partial"), final.with_name(f"{final.name}.old")
    _remove(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        _remove(partial)
        raise
    sync(partial)
    _remove(old)
    if final.exists():
        final.replace(old)
    partial.replace(final)
    sync_names(final.parent)
    _remove(old)


def append_line(path: Path, line: str) -> None:
    """Append a line, in one piece and lasting. What a kill left of the line before stays a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        is_torn = file.seek(0, os.SEEK_END) > 0 and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n"
        file.write((b"\n" if is_torn else b"") + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_names(path.parent)


def bytes_below(folder: Path) -> int:
    """Return how many bytes the files below a folder take, without files that vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def write_table(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as tab-separated text, which `dvc plots`, spreadsheets and pandas all read.

    There is a column for every key that occurs, in the order in which they first do.
    """
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
