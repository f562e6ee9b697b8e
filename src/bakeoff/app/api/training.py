"""A command in a process of its own: what it prints appears as it comes, and Ctrl-C or a notebook's stop reaches it."""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence

from bakeoff.foundation import dvc
from bakeoff.foundation.errors import INTERRUPTED, STOPPED, Canceled, WorkspaceError

POSIX = os.name == "posix"
FOR_TERMINALS = ("FORCE_COLOR", "CLICOLOR_FORCE")  # Jupyter sets them; with them a live bar fills a cell with lines
KEPT = 5  # last lines, of which an error repeats one


def run_command(*words: str) -> None:
    """Run a command of bakeoff's. Raises WorkspaceError with its last line if it fails, and Canceled after Ctrl-C.

    It leads a session of its own, so that a notebook's stop, which goes to a whole group, reaches it once, from here.
    """
    last, is_stopped, code = deque[str](maxlen=KEPT), False, None
    own = {name: value for name, value in os.environ.items() if name not in FOR_TERMINALS}
    with subprocess.Popen(
        make_command(words), env=dvc.environment(own), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", start_new_session=POSIX,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while code is None:
            try:
                for line in process.stdout:
                    print(line, end="", flush=True)
                    last.append(line.strip())
                code = process.wait()
            except KeyboardInterrupt:
                is_stopped = True
                _interrupt(process)
    if is_stopped:
        raise Canceled(STOPPED, INTERRUPTED)
    if code:
        said = next((line for line in reversed(last) if line), "it printed nothing")
        raise WorkspaceError(f"bakeoff {words[0]}: ended with exit code {code}: {said}")


def make_command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "bakeoff", *words]


def _interrupt(process: "subprocess.Popen[str]") -> None:
    """Do to all of its processes what Ctrl-C in a terminal does; in Windows the console has done it."""
    if POSIX and process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
