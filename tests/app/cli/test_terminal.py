"""The end of a terminal is the end of what was begun on it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.imports import ROOT

BEGUN = """
import sys, time
from bakeoff.app.cli.terminal import end_as_by_ctrl_c, print_while_heard
end_as_by_ctrl_c()
try:
    open(sys.argv[1], "w").close()
    while True:
        time.sleep({seconds})
        {say}
except KeyboardInterrupt:
    print("what was begun is ended", flush=True)
    open(sys.argv[2], "w").close()
"""


def ended(folder: Path) -> bool:
    until = time.monotonic() + 30
    while not (folder / "ended").exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.skipif(os.name != "posix", reason="there are no such terminals")
@pytest.mark.parametrize(("seconds", "say"), [(60, "pass"), (0, "print_while_heard('it goes on')")])
def test_a_closed_terminal_is_as_ctrl_c_though_nobody_hears_what_is_said(
    seconds: int, say: str, tmp_path: Path
) -> None:
    import pty

    code = BEGUN.format(seconds=seconds, say=say)
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever runs the tests may ignore it, as nohup does
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", code, str(tmp_path / "begun"), str(tmp_path / "ended")])
    until = time.monotonic() + 30
    while not (tmp_path / "begun").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.close(terminal)
    assert ended(tmp_path)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_pipe_that_nobody_reads_is_as_ctrl_c(tmp_path: Path) -> None:
    code = BEGUN.format(seconds=0.01, say="print_while_heard('it goes on')")
    command = [sys.executable, "-c", code, str(tmp_path / "begun"), str(tmp_path / "ended")]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert ended(tmp_path) and child.wait() == 0
