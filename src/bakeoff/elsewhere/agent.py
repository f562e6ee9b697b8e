"""What stands for one job on the node that Ray chose: it starts the job's process, and tells of it until it is over.

Ray sends this class by value, so a node needs no code of ours for it. It imports nothing at the top but the standard
library. An order holds
    mark, token   a file of the workspace that a near node sees, and what it holds
    near, far     of each the command, its folder and its environment; the far one also what its folder is made of
"""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

SECONDS_OF_SILENCE = 1.0  # after which an answer comes without news
SECONDS_TO_BE_ASKED = 3600.0  # after the end, for a launcher that comes back
NOT_STARTED = 130  # the exit code of a job that was asked to end before it began
NOT_OF_A_JOB = ("RAY_", "PYTHONPATH")  # what Ray sets for its own workers


class Agent:
    def __init__(self, order: dict[str, Any]) -> None:
        self._order, self._is_asked, self._error = order, False, ""
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self._lock, self._over = threading.Lock(), threading.Event()
        self._is_near = _read(order["mark"]) == order["token"]
        threading.Thread(target=self._work, daemon=True).start()
        threading.Thread(target=self._leave, daemon=True).start()

    def news(self) -> dict[str, Any]:
        """Return how the job is, once that is news, or after a while."""
        self._over.wait(SECONDS_OF_SILENCE)
        return {
            "where": socket.gethostname(), "is_near": self._is_near, "is_over": self._over.is_set(),
            "code": self._code, "error": self._error,
        }  # fmt: skip

    def ask(self, number: int) -> None:
        """Send a signal to the job and to all that it has started."""
        with self._lock:
            self._is_asked = True
            process = self._process
        if process is not None:
            _signal_session(process.pid, number)

    def _work(self) -> None:
        try:
            self._code = self._run(self._order["near"])
        except Exception as error:  # it is told, or nobody would know
            self._error = f"{type(error).__name__}: {error}"
        finally:
            self._over.set()

    def _run(self, part: dict[str, Any]) -> int:
        with self._lock:
            if self._is_asked:
                return NOT_STARTED
            with open(part["log"], "ab") as log:
                process = self._process = subprocess.Popen(
                    [sys.executable, *part["command"]], cwd=part["folder"], env=_environment(part["environment"]),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        return process.wait()

    def _leave(self) -> None:
        """End this process some time after the job, or it would hold what Ray gave it for ever."""
        self._over.wait()
        time.sleep(SECONDS_TO_BE_ASKED)
        os._exit(0)


def _environment(given: dict[str, str]) -> dict[str, str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith(NOT_OF_A_JOB)}
    path = os.pathsep.join([os.path.dirname(sys.executable), own.get("PATH", "")])
    return own | given | {"PATH": path, "PYTHONUNBUFFERED": "1"}


def _read(file: str) -> str | None:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError:
        return None


def _signal_session(session: int, number: int) -> None:
    import psutil

    for pid in psutil.pids():
        try:
            if os.getsid(pid) == session:
                os.kill(pid, number)
        except OSError:  # it has just ended
            continue
