"""A process that can be recognised later. The system gives a number again; a number and a start it gives once."""

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
ENDED = "ZX"  # states in /proc/<pid>/stat of a process of which only the entry is left


@dataclass(frozen=True)
class Process:
    pid: int
    started: str  # when, in whatever unit the system counts
    host: str
    boot: str = ""  # other after every start of the machine, where the system says it
    namespace: str = ""  # in which the number means something; a container has its own

    @classmethod
    def nobody(cls) -> "Process":
        """Of what waits for whoever comes."""
        return cls(0, "", "")

    @classmethod
    def own(cls) -> "Process":
        pid = os.getpid()
        return cls(pid, _started(pid) or "", platform.node(), _boot(), _namespace())

    def is_alive(self) -> bool | None:
        """None: it is, or was, on another machine or in another container, and one cannot tell from here."""
        if self.host != platform.node():
            return None
        if self.boot != _boot():
            return False
        return None if self.namespace != _namespace() else self.started == _started(self.pid)


def _started(pid: int) -> str | None:
    """None if there is no such process, or none that still runs."""
    if not sys.platform.startswith("linux"):
        return _started_elsewhere(pid)
    try:
        line = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = line.rpartition(")")[2].split()  # before it stands the program's name, which may hold anything
    return None if fields[0] in ENDED else fields[19]


def _started_elsewhere(pid: int) -> str | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def _boot() -> str:
    file = PROC / "sys/kernel/random/boot_id"
    return file.read_text(encoding="ascii").strip() if file.is_file() else ""


def _namespace() -> str:
    try:
        return os.readlink(PROC / "self/ns/pid")
    except OSError:
        return ""
