"""The files that a far job writes -> the same places here as for near jobs: log, run states, journals."""

import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.workspace import IN_FLIGHT, STOP_FILE, main_workspace

LOG = "log"
REPLACED = (".json", "/run")  # endings of names of files that are written whole
JOURNAL = "journal.jsonl"
Piece = tuple[str, Any, bytes]  # a name below .bakeoff; the offset, or the time of writing; the content


class Mirror:
    """Writes the files of one far job, and knows how far each has come."""

    def __init__(self, files: JobFiles, known: dict[str, Any] | None = None) -> None:
        """`known` has the sizes of files that the node got from here."""
        self.known = dict(known or {})
        self._files, self._home = files, main_workspace() / IN_FLIGHT

    def apply(self, pieces: Iterable[Piece]) -> bool:
        """Write the pieces, and return whether a journal is among them. The same pieces again change nothing."""
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
        """Remove the files by which somebody asks a run of this job to stop, and return their names."""
        folders = [Path(name).parent for name in self.known if name.startswith("runs/")]
        stop_files = [folder / STOP_FILE for folder in dict.fromkeys(folders)]
        stop_files = [file for file in stop_files if (self._home / file).exists()]
        for file in stop_files:
            (self._home / file).unlink(missing_ok=True)
        return [file.as_posix() for file in stop_files]


def write_at(path: Path, at: int, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, content, at)
    finally:
        os.close(file)


def unpack(packed: Path, folder: Path) -> list[str]:
    """Write a job's last reports where they are not there yet: what journals name before the journals.

    Return the names of all files in them.
    """
    with tarfile.open(packed) as tar:
        members = tar.getmembers()
        for member in members:
            path = folder / member.name
            content = tar.extractfile(member)
            if content is None or (path.is_file() and path.stat().st_size >= member.size and JOURNAL in member.name):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.name.endswith(REPLACED):
                write_whole(path, content.read().decode())
            else:
                write_at(path, 0, content.read())
    return [member.name for member in members]
