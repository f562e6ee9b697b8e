"""What a far job writes, kept beside what jobs here write: log, run states, journals. So whoever looks sees no
difference.
"""

import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bakeoff.files import write_whole
from bakeoff.sweep.job import JobFiles
from bakeoff.workspace import IN_FLIGHT, STOP_FILE, main_workspace

LOG = "log"
REPLACED = (".json", "/run")  # endings of names of files that are written whole
JOURNAL = "journal.jsonl"
Piece = tuple[str, Any, bytes]  # a name below .bakeoff; where its content goes, or the time it was written; content


class Mirror:
    def __init__(self, files: JobFiles, known: dict[str, Any] | None = None) -> None:
        """`known` are sizes of files that the node was given."""
        self.known = dict(known or {})
        self._files, self._home = files, main_workspace() / IN_FLIGHT

    def apply(self, pieces: Iterable[Piece]) -> bool:
        """Write what came; return whether a journal is among it. Twice the same changes nothing."""
        has_reported = False
        for name, at, content in pieces:
            path = self._files.log if name == LOG else self._home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name != LOG and name.endswith(REPLACED):
                write_whole(path, content.decode())
                self.known[name] = at
            else:
                write_at(path, at, content)
                self.known[name] = at + len(content)
            has_reported = has_reported or name.endswith(JOURNAL)
        return has_reported

    def stops(self) -> list[str]:
        """Return the names of files by which somebody asks a run of this job to stop, and take them away."""
        folders = [Path(name).parent for name in self.known if name.startswith("runs/")]
        found = [folder / STOP_FILE for folder in dict.fromkeys(folders) if (self._home / folder / STOP_FILE).exists()]
        for file in found:
            (self._home / file).unlink(missing_ok=True)
        return [file.as_posix() for file in found]


def write_at(path: Path, at: int, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, content, at)
    finally:
        os.close(file)


def unpack(packed: Path, told: Path) -> list[str]:
    """Write what a job told until its end, where it is not there yet: what journals name before the journals.

    Return the names of all files that it told.
    """
    with tarfile.open(packed) as tar:
        members = tar.getmembers()
        for member in members:
            path = told / member.name
            content = tar.extractfile(member)
            if content is None or (path.is_file() and path.stat().st_size >= member.size and JOURNAL in member.name):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.name.endswith(REPLACED):
                write_whole(path, content.read().decode())
            else:
                write_at(path, 0, content.read())
    return [member.name for member in members]
