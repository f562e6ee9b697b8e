"""Files of a dataset's folder, and nothing outside of it, whatever links and annotations say: listed, located, read
as text or as rows of a CSV, and recognised by their first bytes.
"""

import csv
import json
import os
import re
import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path, PurePosixPath

from bakeoff.dataset.sources import parsing
from bakeoff.foundation import dvc
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import find_irregular, open_regular
from bakeoff.foundation.formatting import CONTROL, make_printable

IMAGE_SUFFIXES = frozenset(
    ".jpg .jpeg .jpe .jfif .png .gif .bmp .webp .tif .tiff .mpo .ppm .pgm .heic .heif .avif".split()
)
VIDEO_SUFFIXES = frozenset(".mp4 .m4v .mkv .avi .mov .webm .gif".split())
LONGEST_NAME = 1024  # characters of a path in the dataset's folder
LONGEST_PART = 255  # bytes of a file's name, in every file system of today
DEEPEST = 200  # folders within each other
MOST_COLUMNS = 1000  # of a CSV
HEAD = 64  # bytes that are enough to recognise a file
FOLDER = "folder"
LEAVES = "leaves the dataset's folder"
GONE = "went away while it was read; run the same command again"
Row = tuple[int, dict[str, str]]  # the line's number, the values by column

_FORMATS = (
    (rb"\xff\xd8", "JPEG"),
    (rb"\x89PNG\r\n\x1a\n", "PNG"),
    (rb"GIF8[79]a", "GIF"),
    (rb"RIFF....WEBP", "WebP"),
    (rb"BM....\0\0\0\0", "BMP"),
    (rb"II\*\0|MM\0\*", "TIFF"),
    (rb"P[1-6]\s", "PNM"),
)
_OTHERS = (
    (rb"\s*(<!doctype html|<html|<head)", "no image: a web page; the download went wrong"),
    (rb"version https://git-lfs", "no image: a Git LFS pointer; run `git lfs pull`"),
    (rb"\x00\x05\x16\x07|\x00\x05\x16\x00", "no image: a macOS resource fork; it can be deleted"),
    (rb"....ftyp(heic|heix|mif1|msf1|avif)", "HEIC or AVIF, which is not supported; convert it to JPEG"),
    (rb"....ftyp", "no image: a video"),
    (rb"\s*(<\?xml|<svg)", "no image: XML or SVG"),
    (rb"%PDF", "no image: a PDF document"),
    (rb"PK\x03\x04", "no image: a zip archive"),
    (rb"\s*[{\[]", "no image: text that looks like JSON"),
)


def list_files(root: Path, inside: str = "", but: Container[str] = ()) -> Iterator[tuple[str, str | None]]:
    """Yield (relative path, why it cannot be used or None) of every file, folder by folder in sorted order.

    Folders in `but` are left out.

    Holds the names of one folder, and of those above it, at a time. Hidden files are no part of a dataset.
    """
    if not stays_inside(root, inside):
        yield inside, f"a link that {LEAVES}"
        return
    open_folders = [_list_entries(root, inside)]
    while open_folders:
        path, kind, is_link = next(open_folders[-1], (None, None, False))
        if path is None:
            open_folders.pop()
        elif is_link and not stays_inside(root, path):
            yield path, f"a link that {LEAVES}"
        elif kind == FOLDER and is_link:
            yield path, "a link to a folder; name the folder itself"
        elif kind == FOLDER and len(open_folders) >= DEEPEST:
            yield path, f"more than {DEEPEST} folders within each other; move it up"
        elif kind == FOLDER and path in but:
            continue
        elif kind == FOLDER:
            open_folders.append(_list_entries(root, path))
        else:
            yield path, find_unfit_name(path.rpartition("/")[2]) or kind


def _list_entries(root: Path, inside: str) -> Iterator[tuple[str, str | None, bool]]:
    """Yield the path, the kind and whether it is a link of each name in a folder, in sorted order."""
    with _scan(root, inside) as entries:
        names = [(entry.name, _kind_of(entry), entry.is_symlink()) for entry in entries if entry.name[0] != "."]
    for name, kind, is_link in sorted(names, key=lambda row: row[0]):
        yield f"{inside}/{name}" if inside else name, kind, is_link


def _kind_of(entry: os.DirEntry[str]) -> str | None:
    """Return FOLDER, None for a regular file, or why it cannot be read."""
    return find_irregular(entry) or (FOLDER if entry.is_dir() else None)


@contextmanager
def _scan(root: Path, inside: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Give the entries of a folder. Raises DataError for one that went away since it was listed."""
    try:
        with os.scandir(root / inside) as entries:
            yield entries
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{make_printable((root / inside).as_posix())}: {GONE}") from None


def list_folders(root: Path, inside: str = "") -> list[str]:
    """Return the names of the folders in one. Raises DataError for one that a link leads out to."""
    require_own_folder(root, inside)
    with _scan(root, inside) as entries:
        return sorted(entry.name for entry in entries if _kind_of(entry) == FOLDER and not entry.name.startswith("."))


def require_own_folder(root: Path, inside: str) -> None:
    if not stays_inside(root, inside):
        raise DataError(f"{(root / inside).as_posix()}: a link that {LEAVES}; copy what it points to")


def read_head(path: str | Path) -> bytes | str:
    """Return the bytes by which a file is recognised, or why it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(HEAD)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def find_unfit_name(name: str) -> str | None:
    return "its name has control characters or is not UTF-8; rename it" if CONTROL.search(name) else None


def locate(root: Path, name: str, inside: str = "") -> tuple[str, str | None]:
    """Return (relative path, problem) of a file that an annotation names, relative to the folder `inside`."""
    if len(name) > LONGEST_NAME:
        return make_printable(f"{name[:80]}…"), f"its name has more than {LONGEST_NAME:,} characters; rename it"
    clean = name.replace("\\", "/").removeprefix("./")
    path = PurePosixPath(inside, clean).as_posix() if not clean.startswith("/") else clean
    if CONTROL.search(clean):
        return path, find_unfit_name(clean)
    if clean.startswith("/") or re.match(r"[A-Za-z]:", clean) or ".." in PurePosixPath(clean).parts:
        return path, LEAVES
    if not os.path.isfile(root / path):  # a Path raises where a name is longer than the system's
        return path, "no such file"
    return path, None if stays_inside(root, path) else LEAVES


def stays_inside(root: Path, path: str) -> bool:
    """Also links into DVC's own cache are fine: with `cache.type: symlink` that is where its files are."""
    target = Path(os.path.realpath(root / path))
    return target.is_relative_to(root.resolve()) or target.is_relative_to(dvc.cache().resolve())


@contextmanager
def blaming(root: Path, name: str, key: str) -> Iterator[Path]:
    """Give the path of a file that the setting `key` names, and its name to whatever is wrong with it."""
    path = root / name
    if not stays_inside(root, name):
        raise DataError(f"{path.as_posix()}: {LEAVES} ({key})")
    try:
        yield path
    except ValueError as error:
        raise DataError(f"{path.as_posix()}: {error} ({key})") from None


def read_text(root: Path, name: str, key: str, most: int = parsing.MOST_BYTES) -> str:
    """Return a text file of the dataset as a whole."""
    with blaming(root, name, key) as path:
        return parsing.read_text(path, most)


def read_lines(root: Path, name: str, key: str) -> Iterator[str]:
    """Yield the lines of a text file of the dataset, of any length."""
    with blaming(root, name, key) as path:
        if not os.path.isfile(path):
            raise ValueError("no such file")
        yield from parsing.read_lines(path)


def read_rows(root: Path, file: str, needed: Sequence[str], key: str) -> Iterator[Row]:
    """Yield the rows of a CSV of any length. `needed` may name several spellings of a column: `label|labels`."""
    path = root / file
    if not os.path.isfile(path) or not stays_inside(root, file):
        there = ", ".join(sorted(other.name for other in root.glob("*.csv"))[:10]) or "none"
        raise DataError(f"{path.as_posix()}: no such file in the dataset's folder ({key}); CSV files there: {there}")
    table = csv.DictReader(read_lines(root, file, key))
    try:
        columns = [column.strip().lower() for column in table.fieldnames or []]
        table.fieldnames = columns
        for name in needed:
            if not set(name.split("|")) & set(columns):
                lacking, present = name.replace("|", " or "), ", ".join(map(make_printable, columns))[:200] or "none"
                raise DataError(f"{path.as_posix()}:1: lacks the column {lacking}; columns: {present}")
        if len(columns) > MOST_COLUMNS:
            raise DataError(f"{path.as_posix()}:1: has {len(columns):,} columns, more than {MOST_COLUMNS}; delete some")
        for row in table:
            yield table.line_num, {name: (row[name] or "").strip() for name in columns}
    except csv.Error as error:
        raise DataError(f"{path.as_posix()}:{table.line_num}: no CSV: {error}; correct the line") from None


def group_rows(rows: Iterable[Row], column: str) -> Iterator[tuple[str, list[Row]]]:
    """Bring rows of one value of a column together, on disk, wherever in the file they are."""
    with closing(sqlite3.connect("")) as table:  # a temporary file of SQLite's own, gone when closed
        table.execute("CREATE TABLE rows (name TEXT, line INTEGER, content TEXT)")
        content = ((row[column], line, json.dumps(row)) for line, row in rows)
        table.executemany("INSERT INTO rows VALUES (?, ?, ?)", content)
        ordered = table.execute("SELECT name, line, content FROM rows ORDER BY name, line")
        for name, group in groupby(ordered, key=lambda row: row[0]):
            yield name, [(line, json.loads(text)) for _, line, text in group]


def format_of(data: bytes) -> str | None:
    """Return the image format by the first bytes, or None if it is none that can be read."""
    return next((name for start, name in _FORMATS if re.match(start, data, re.DOTALL)), None)


def what_instead(data: bytes) -> str:
    """Return why bytes that are no image are none."""
    for start, reason in _OTHERS:
        if re.match(start, data, re.DOTALL | re.IGNORECASE):
            return reason
    return f"no image: starts with {data[:8]!r}"
