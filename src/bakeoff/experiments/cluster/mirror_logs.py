"""The files that a far job writes -> the same places here as for near jobs: log, run states, journals."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bakeoff.experiments.cluster.node_orders import LOG, FilePart
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.foundation.files import write_whole
from bakeoff.foundation.workspace import IN_FLIGHT, STOP_FILE, main_workspace

REPLACED = (".json", "/run")  # endings of names of files that are written whole
JOURNAL = "journal.jsonl"


class Mirror:
    """Writes the files of one far job, and knows how far each has come."""

    def __init__(self, files: JobFiles, sent: Mapping[str, bytes] | None = None) -> None:
        """`sent` are the files that the node got from here. Of these it sends back only what grows."""
        sizes = {name.removeprefix(f"{IN_FLIGHT}/"): len(content) for name, content in (sent or {}).items()}
        self.known = {name: size for name, size in sizes.items() if name.endswith(".jsonl")}
        self._files, self._home = files, main_workspace() / IN_FLIGHT

    def apply(self, parts: Sequence[FilePart]) -> bool:
        """Write the parts, and return whether a journal is among them. The same parts again change nothing."""
        for part in parts:
            path = self._files.log if part.name == LOG else self._home / part.name
            is_replaced = write_reported(path, part.name, part.at, part.content)
            self.known[part.name] = part.at if is_replaced else part.at + len(part.content)
        return any(part.name.endswith(JOURNAL) for part in parts)

    def stops(self) -> list[str]:
        """Remove the files by which somebody asks a run of this job to stop, and return their names."""
        folders = [Path(name).parent for name in self.known if name.startswith("runs/")]
        stop_files = [folder / STOP_FILE for folder in dict.fromkeys(folders)]
        stop_files = [file for file in stop_files if (self._home / file).exists()]
        for file in stop_files:
            (self._home / file).unlink(missing_ok=True)
        return [file.as_posix() for file in stop_files]


def write_reported(path: Path, name: str, at: int, content: bytes) -> bool:
    """Write a part of a file that a job reports, and return whether it is all of one that is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(REPLACED):
        write_whole(path, content.decode())
        return True
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, content, at)
    finally:
        os.close(file)
    return False
