"""`bakeoff …` in this process, or on a terminal of its own."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.app import cli
from support.workspace_copy import environment


def run_bakeoff(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    """Exit code, output, errors."""
    monkeypatch.setattr(sys, "argv", ["bakeoff", *words])
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()


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
