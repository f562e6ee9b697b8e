"""A process that can be recognised later. The system gives a number again; a number and a start it gives once."""

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    pid: int
    started: str  # when, in whatever unit the system counts
    host: str
    boot: str = ""  # differs after every start of the machine, where the system has such a number
    namespace: str = ""  # in which the number means something; a container has its own

    @classmethod
    def nobody(cls) -> "Process":
        """Return the process of a job that waits for whichever process takes it."""
        return cls(0, "", "")

    @classmethod
    def current(cls) -> "Process":
        pid = os.getpid()
        return cls(pid, _start_time(pid) or "", platform.node(), _boot(), _namespace())

    @property
    def is_of_this_boot(self) -> bool:
        return self.boot == _boot()

    def is_alive(self) -> bool | None:
        """Return whether the process lives. None: it is, or was, on another machine or in another container, which
        cannot be seen from here.
        """
        if self.host != platform.node():
            return None
        if not self.is_of_this_boot:
            return False
        return None if self.namespace != _namespace() else self.started == _start_time(self.pid)


def _start_time(pid: int) -> str | None:
    """Return when a process started. None: there is no such process, or it has ended and only its entry is left."""
    import psutil  # takes 20 ms, and mostly nobody asks

    boot = psutil.boot_time()
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        started = process.create_time()
    except psutil.Error:
        return None
    if not sys.platform.startswith("linux"):
        return f"{started:.2f}"
    # Ticks since the start of the machine, as the kernel counts them: they stay when somebody sets the clock.
    return str(round((started - boot) * os.sysconf("SC_CLK_TCK")))


def _boot() -> str:
    file = PROC / "sys/kernel/random/boot_id"
    return file.read_text(encoding="ascii").strip() if file.is_file() else ""


def _namespace() -> str:
    try:
        return os.readlink(PROC / "self/ns/pid")
    except OSError:
        return ""
