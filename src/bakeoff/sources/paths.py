"""Files of a dataset's folder, and nothing outside of it, whatever links and annotations say."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from bakeoff import dvc
from bakeoff.errors import DataError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")
LEAVES = "leaves the dataset's folder"


def shown(name: str) -> str:
    """A name that does nothing to a terminal or a page."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", name)


def walk(root: Path, inside: str = "") -> Iterator[tuple[str, str | None]]:
    """(relative path, why it cannot be used or None) of every file, folder by folder in sorted order.

    Holds one folder's names at a time. Hidden files are no part of a dataset.
    """
    names: list[tuple[str, bool, bool]] = []
    with os.scandir(root / inside) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                names.append((entry.name, entry.is_dir(), entry.is_symlink()))
    for name, is_folder, is_link in sorted(names):
        path = f"{inside}/{name}" if inside else name
        if is_link and not stays_inside(root, path):
            yield path, f"a link that {LEAVES}"
        elif is_folder and is_link:
            yield path, "a link to a folder; name the folder itself"
        elif is_folder:
            yield from walk(root, path)
        else:
            yield path, unfit_name(name)


def folders(root: Path, inside: str = "") -> list[str]:
    """Names of the folders in a folder."""
    with os.scandir(root / inside) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def unfit_name(name: str) -> str | None:
    return "its name has control characters or is not UTF-8; rename it" if CONTROL.search(name) else None


def named(root: Path, name: str, inside: str = "") -> tuple[str, str | None]:
    """(relative path, problem) of a file that an annotation names, relative to the folder `inside`."""
    clean = name.replace("\\", "/").removeprefix("./")
    path = PurePosixPath(inside, clean).as_posix() if not clean.startswith("/") else clean
    if CONTROL.search(clean):
        return path, unfit_name(clean)
    if clean.startswith("/") or re.match(r"[A-Za-z]:", clean) or ".." in PurePosixPath(clean).parts:
        return path, LEAVES
    if not (root / path).is_file():
        return path, "no such file"
    return path, None if stays_inside(root, path) else LEAVES


def stays_inside(root: Path, path: str) -> bool:
    """Also links into DVC's own cache are fine: with `cache.type: symlink` that is where its files are."""
    target = (root / path).resolve()
    return target.is_relative_to(root.resolve()) or target.is_relative_to(dvc.cache().resolve())


def read_text(root: Path, name: str, key: str) -> str:
    """A text file of the dataset that a setting names."""
    path = root / name
    if not stays_inside(root, name):
        raise DataError(f"{path.as_posix()}: {LEAVES} ({key})")
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path.as_posix()}: no such file ({key})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path.as_posix()}: not UTF-8 text, byte {error.start} cannot be read ({key})") from None
