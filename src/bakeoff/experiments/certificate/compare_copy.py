"""A statement and a clone -> the files that differ, and of each the first byte where the certified ones are here, too.

The certified bytes are looked for in git and in DVC's cache, and count only if they have the stated SHA-256.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bakeoff.experiments.certificate.certified_run import TRACKED
from bakeoff.experiments.certificate.run_statement import PARTS, RunStatement, StatedFile
from bakeoff.foundation import dvc, git
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import hash_file, open_regular
from bakeoff.foundation.shipped import code_lines, code_stage
from bakeoff.foundation.workspace import EXPORTED, RECORDS, TRAINED

FOLDERS = {"data": RECORDS, "weights": TRAINED, "export": EXPORTED}  # a part -> where nothing else may be
ROOTS = {"code": ("src", "parts"), "config": ("conf",)}
CHUNK = 1 << 20
SHOWN = 12  # characters of a digest


@dataclass(frozen=True)
class ComparedPart:
    name: str
    here: int  # files
    absent: int  # files of outputs of which nothing is here
    differing: Sequence[str]


def compare_clone(statement: RunStatement) -> Iterator[ComparedPart]:
    """Yield each part as this workspace has it, in the order in which a run reads and makes them."""
    for part in PARTS:
        files = statement.files[part]
        absent = _list_absent(files)
        differing = [text for one in files if one not in absent and (text := _compare(one))]
        differing += [f"{name}: is not in the certificate" for name in _list_more(part, files)]
        if part == "code" and not differing:  # a damaged part of the workspace's own cannot be digested
            differing += _compare_installed(statement.installed)
        yield ComparedPart(part, len(files) - len(absent), len(absent), differing)


def describe_difference(path: Path, sha256: str, stated: StatedFile | None) -> str:
    """Return where a file begins to be another than the certified one, or its digest if only that is known."""
    with open_regular(path) as here:
        if (certified := _open_certified(sha256, stated)) is not None:
            with certified:
                offset, now, then = find_difference(here, certified)
            return f"{path.as_posix()}: byte {offset:,}: is {now}, was certified as {then}"
    return f"{path.as_posix()}: SHA-256 is {hash_file(path)[:SHOWN]}…, was certified as {sha256[:SHOWN]}…"


def find_difference(one: BinaryIO, other: BinaryIO) -> tuple[int, str, str]:
    """Return the first offset at which two files differ, counted from 0, and what each has there."""
    begin = 0
    while (a := one.read(CHUNK)) == (b := other.read(CHUNK)) and a:
        begin += len(a)
    at = next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    now, then = (f"0x{part[at]:02x}" if at < len(part) else "the end" for part in (a, b))
    return begin + at, now, then


def _open_certified(sha256: str, stated: StatedFile | None) -> BinaryIO | None:
    """Open the certified bytes; nothing where neither git nor DVC's cache has them whole."""
    if stated and stated.blob:
        with suppress(WorkspaceError, FileNotFoundError):  # a shallow clone lacks older objects
            content = next(git.read_blobs([stated.blob]))
            return io.BytesIO(content) if hashlib.sha256(content).hexdigest() == sha256 else None
    cached = dvc.cached_file(stated.md5) if stated and stated.md5 else None
    return cached.open("rb") if cached and hash_file(cached) == sha256 else None


def _compare(one: StatedFile) -> str | None:
    path = Path(one.name)
    try:
        return None if hash_file(path) == one.sha256 else describe_difference(path, one.sha256, one)
    except FileNotFoundError:
        return f"{one.name}: missing"
    except OSError as error:
        return f"{one.name}: cannot be read ({error.strerror or error})"


def _list_absent(files: Iterable[StatedFile]) -> list[StatedFile]:
    """List the files of outputs that DVC has not brought here. Where it has brought some, all others must be here."""
    made = [one for one in files if one.md5]
    return [] if any(Path(one.name).exists() for one in made) else made


def _list_more(part: str, files: Iterable[StatedFile]) -> list[str]:
    """List the files that could change a result, or pass for one, and that nobody certified."""
    if part in ROOTS:
        names = [*git.tracked(*ROOTS[part]), *git.untracked(*ROOTS[part])]
        there = {name for name in names if TRACKED[part].fullmatch(name) and Path(name).exists()}
    else:
        folder = FOLDERS.get(part)
        there = {path.as_posix() for path in folder.rglob("*") if not path.is_dir()} if folder else set()
    return sorted(there - {one.name for one in files})


def _compare_installed(installed: Mapping[str, str]) -> Iterator[str]:
    """Yield the stages whose code is another, where an installed bakeoff has it instead of the commit."""
    here = code_lines() if installed and code_stage() else {}
    for stage, digest in installed.items():
        if here.get(stage) != digest:
            yield f"the installed bakeoff: has other code for {stage}"
