"""A module of this package in a process of its own: the memory that it takes ends with it."""

import ctypes
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from bakeoff.foundation.errors import INTERRUPTED, TRY_AGAIN_LATER, ConfigError, TryAgainLater, WorkspaceError

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux' prctl
BY_CTRL_C = (INTERRUPTED, -signal.SIGINT)  # with which a process ends


def run_module(name: str, module: str, *arguments: str, feed: Callable[[IO[bytes]], None] | None = None) -> str:
    """Return what `python -m module` prints. What it says last as it fails becomes the error's text.

    `name` is what messages call it, and `feed` writes to its standard input. It never outlives this call.
    """
    command = [sys.executable, "-m", module, *arguments]
    with TemporaryFile() as printed, TemporaryFile() as notices:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=printed, stderr=notices)
        try:
            assert child.stdin is not None
            with suppress(BrokenPipeError), child.stdin as given:  # one that has ended says below why
                if feed:
                    feed(given)
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        said = [_read(file) for file in (printed, notices)]
    if code:
        raise _explain(name, code, said[1])
    return said[0]


def wait_or_kill(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Wait for a process that is to end, and kill it if it does not."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _explain(name: str, code: int, notices: str) -> BaseException:
    if code in BY_CTRL_C:
        return KeyboardInterrupt()
    lines = [line for line in notices.splitlines() if line.strip()]
    if code > 0 and lines:
        return (TryAgainLater if code == TRY_AGAIN_LATER else ConfigError)(lines[-1])
    how = f"ended with code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
    return WorkspaceError(
        f"{name}: the process for it {how}; if memory ran short, end other programs, and run the same command again"
    )


def die_with_parent() -> None:
    """End this process as soon as the one that started it ends, by whatever; on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
