"""Copies of a run's checkpoints off this machine, in MLflow or in a store of work -> the newest whole one, here.

1-head/00000532         a checkpoint, by its phase and the steps of the run that are done
1-head/best-00000400    weights that scored best; a checkpoint that names them is whole only with them
"""

import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from bakeoff.foundation.files import sync, sync_names, write_whole
from bakeoff.learning.checkpoints.checkpoint import Damaged
from bakeoff.learning.checkpoints.run_folder import find_newest_whole

PART_BYTES = 16_000_000  # of a larger file a store gets parts, of which each is sent again by itself
NAME = re.compile(r"(?P<phase>\d+)-[^/\\]+/(?P<best>best-)?(?P<step>\d+)")  # a store may hold any other name

Fetched = TypeVar("Fetched")


@dataclass(frozen=True, order=True)
class CheckpointCopy:
    """A checkpoint that a store has; the greater, the newer."""

    epoch: int  # of the lease under which it was sent; MLflow has none
    phase: int
    step: int
    name: str  # in the run's folder, such as 1-head/00000532
    prefix: str = ""  # the folder of its epoch

    @classmethod
    def parse(cls, name: str, epoch: int = 0, prefix: str = "") -> "CheckpointCopy | None":
        """Return None for any name that is no checkpoint's."""
        match = NAME.fullmatch(name)
        return (
            cls(epoch, int(match["phase"]), int(match["step"]), name, prefix) if match and not match["best"] else None
        )


def count_parts(size: int) -> int:
    return -(-size // PART_BYTES)


def part_name(name: str, number: int) -> str:
    """Return the name of a file's part, by its number from 1."""
    return f"{name}.part-{number:05d}"


def read_parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as content:
        while part := content.read(PART_BYTES):
            yield part


def join_parts(parts: Iterable[bytes], place: Path, size: int, sha256: str | None) -> None:
    """Write a file from its parts. Raises ValueError if it is not what was sent."""
    place.parent.mkdir(parents=True, exist_ok=True)
    digest, length = hashlib.sha256(), 0
    with place.open("wb") as whole:
        for part in parts:
            digest.update(part)
            length += whole.write(part)
    if length != size:
        raise ValueError(f"it has {length:,} bytes, {size:,} were sent")
    if digest.hexdigest() != sha256:
        raise ValueError("its SHA-256 is another")


def fetch_newest(
    copies: Iterable[CheckpointCopy], fetch: Callable[[CheckpointCopy, Path], Fetched], into: Path
) -> tuple[CheckpointCopy, Fetched]:
    """Fetch the first copy that is whole into a folder of its own. Raises Damaged if none is."""
    waiting = list(copies)
    while True:
        tried = waiting.pop(0)
        shutil.rmtree(into, ignore_errors=True)
        try:
            return tried, fetch(tried, into)
        except Damaged as error:
            message = str(error).removeprefix(f"{into.as_posix()}/")
            if not waiting:
                raise Damaged(message) from None
            print(f"warning: {message}; the copy before is taken, of step {waiting[0].step:,}", file=sys.stderr)


def list_newer(copies: Iterable[CheckpointCopy], folder: Path) -> list[CheckpointCopy]:
    """Return the copies, the newest first, before the first one that is no newer than the newest whole checkpoint in a
    run's folder."""
    newest = find_newest_whole(folder)
    here = (newest[0].phase + 1, newest[0].step) if newest else (0, 0)
    return list(takewhile(lambda copy: (copy.phase, copy.step) > here, copies))


def put_in_place(files: Iterable[Path], below: Path, folder: Path, run_id: str) -> None:
    """Move files that were fetched below a folder into a run's folder, in their order and lasting."""
    write_whole(folder / "run", run_id, lasting=True)
    for file in files:
        place = folder / file.relative_to(below)
        place.parent.mkdir(exist_ok=True)
        sync(file)
        file.replace(place)
        sync_names(place.parent)
