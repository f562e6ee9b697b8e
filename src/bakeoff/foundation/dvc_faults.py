"""What the machine does to DVC, a full disk or one that nobody may write to, in one line with what to do.

DVC reports most of it as a defect of its own, as a link that the file system lacks or as a file that its cache lacks.
On a full disk its store of digests tries again for ever.
"""

import logging
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bakeoff.foundation.dvc_repair import COPYING
from bakeoff.foundation.errors import name_fault

DVC_FAILED = 255  # its exit code
LOGGER, LOGGER_AT_THE_END = "dvc", "dvc.cli"  # DVC's other loggers have the handlers of the first
OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
VAGUE = ("CacheLinkError", "LinkError", "CheckoutError")  # names of DVC's errors, behind which the disk may be
ENDED_BY_THE_SYSTEM = "exited with -9"  # DVC's end of a stage, mostly for want of memory
TOO_LITTLE = (
    "the system or somebody ended the stage by SIGKILL, most often for want of memory; end other programs or raise the "
    "container's limit"
)
PROBE = 1 << 20  # bytes; where they do not fit, the disk is full


class MachineFault(Exception):
    """Passes through DVC, which reports every other error itself. Its text says what is wrong, and what repairs it."""


class FaultFilter(logging.Filter):
    """Takes the faults of the machine out of what DVC logs."""

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__()
        self._folders = folders
        self.first: str | None = None  # of the faults that DVC has logged so far

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, KeyboardInterrupt):
            return True
        causes = list(_list_causes(error))
        if str(causes[-1]).endswith(ENDED_BY_THE_SYSTEM):  # which sweeps read, so that DVC's line stays
            self.first = self.first or TOO_LITTLE
            return True
        fault = next(filter(None, map(self._name, causes)), None)
        self.first = self.first or fault
        if self.first and record.name == LOGGER_AT_THE_END:
            raise MachineFault
        return fault is None

    def _name(self, error: BaseException) -> str | None:
        if isinstance(error, OSError) and str(error.filename2 or "").endswith(COPYING):
            with suppress(OSError):  # this process was copying it, and does not remove it
                os.unlink(error.filename2)
        if isinstance(error, sqlite3.Error) or type(error).__name__ in VAGUE:
            return next(filter(None, map(_try_to_write, self._folders)), None)
        return name_fault(error)


def run_reporting(run_dvc: Callable[[list[str]], int | None], arguments: Sequence[str], folders: Sequence[Path]) -> int:
    """Run DVC and return its exit code. `folders` are those that it writes to."""
    end_retries()
    faults, logger = FaultFilter(folders), logging.getLogger(LOGGER)
    handlers = [handler for handler in logger.handlers if handler.level >= logging.WARNING]
    for handler in handlers:
        handler.addFilter(faults)
    try:
        return int(run_dvc(list(arguments)) or 0)
    except MachineFault:
        return DVC_FAILED
    finally:
        for handler in handlers:
            handler.removeFilter(faults)
        if faults.first:
            print(f"dvc {''.join(arguments[:1])}: {faults.first} and run the same command again", file=sys.stderr)


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _try_to_write(folder: Path) -> str | None:
    """Return what is wrong with a folder's disk; None if it takes what is written."""
    there = next((one for one in (folder, *folder.parents) if one.is_dir()), None)
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(PROBE))
    except OSError as error:
        error.filename = str(folder)
        return name_fault(error)
    return None


def end_retries() -> None:
    """Let DVC's store of digests try only once what the disk refuses."""
    from diskcache.core import Cache

    Cache._sql = property(_executor)


def _executor(store: Any) -> Callable[..., Any]:
    """Return what runs statements of SQL. The store tries again after every `OperationalError`, and after no other."""

    def execute(*arguments: Any) -> Any:
        try:
            return store._con.execute(*arguments)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in OF_THE_DISK:
                raise sqlite3.DatabaseError(str(error)) from error
            raise

    return execute
