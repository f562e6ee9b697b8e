"""`bakeoff …` in this process, or on a terminal of its own."""

import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bakeoff.app import cli
from support.workspace_copy import environment


class CommandOutput(NamedTuple):
    """What the bakeoff command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """Return the cells of each line, which stand two blanks apart."""
        return [re.split(r"  +", line.strip()) for line in self.out.splitlines()]


Bakeoff = Callable[..., CommandOutput]


def run_bakeoff(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> CommandOutput:
    monkeypatch.setattr(sys, "argv", ["bakeoff", *words])
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    return CommandOutput(code, *capsys.readouterr())


def show_on_terminal(folder: Path, columns: int, *words: str, **more: str) -> list[str]:
    """Return the lines that a terminal so wide is sent, colours included."""
    import fcntl
    import pty
    import termios

    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    known = {key: value for key, value in environment().items() if key not in ("COLUMNS", "NO_COLOR", "DVC_ROOT")}
    command = [sys.executable, "-m", "bakeoff", *words]
    with subprocess.Popen(
        command, cwd=folder, env={**known, "TERM": "xterm-256color", **more}, stdin=other, stdout=other, stderr=other
    ):
        os.close(other)
        sent = b""
        try:
            while part := os.read(own, 65536):
                sent += part
        except OSError:  # how Linux says that nobody writes any more
            pass
        os.close(own)
    return sent.decode().replace("\r\n", "\n").splitlines()
