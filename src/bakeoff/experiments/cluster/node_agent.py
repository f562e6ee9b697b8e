"""The actor of one job on the node that Ray chose: it starts the job's process, and reports on it until it is over.

Ray sends this class by value, so a node needs no code of ours for it. This file imports nothing at the top but the
standard library and files that are sent by value as well.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from bakeoff.experiments.cluster.far_folder import MOST_AT_ONCE, FarFolder, find_scratch
from bakeoff.experiments.cluster.node_orders import FarJob, JobCommand, JobNews, JobOrder

SECONDS_OF_SILENCE = 1.0  # after them an answer comes without news
SECONDS_TO_BE_ASKED = 3600.0  # the agent answers so long after the end, for a launcher that comes back
NOT_STARTED = 130  # the exit code of a job that was asked to end before it started
NOT_OF_A_JOB = ("RAY_", "PYTHONPATH")  # variables that Ray sets for its own workers


class Agent:
    def __init__(self, order: JobOrder) -> None:
        self._order, self._is_asked, self._error = order, False, ""
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self._lock, self._over = threading.Lock(), threading.Event()
        self._is_near = _read_text(order.mark) == order.token
        self._folder: FarFolder | None = None  # of a far job
        threading.Thread(target=self._work, daemon=True).start()
        threading.Thread(target=self._end_late, daemon=True).start()

    def news(self, known: Mapping[str, int]) -> JobNews:
        """Return the state of the job, once it has changed, or after a while; for a far job also its new files, but
        for parts that are `known`.
        """
        until = time.monotonic() + SECONDS_OF_SILENCE
        while True:
            is_over = self._over.wait(0.1)  # read before the files, so that none is missed
            files = self._folder.collect_parts(known) if self._folder and self._folder.is_made else []
            if is_over or files or time.monotonic() > until:
                break
        has_more = sum(len(part.content) for part in files) >= MOST_AT_ONCE
        is_over = is_over and not has_more
        return JobNews(socket.gethostname(), self._is_near, is_over, self._code, self._error, tuple(files))

    def ask(self, number: int) -> None:
        """Send a signal to the job and to all processes that it has started."""
        with self._lock:
            self._is_asked = True
            process = self._process
        if process is not None:
            _signal_session(process.pid, number)

    def stop(self, name: str) -> None:
        """Make a file by which somebody asks a run of a far job to stop after its step."""
        if self._folder:
            self._folder.request_stop(name)

    def leave(self) -> None:
        """Remove what the job leaves on this node, and end this process."""
        if self._folder and self._folder.is_made:
            self._folder.remove()
            self._folder.remove_reports()
        from ray.actor import exit_actor

        exit_actor()

    def _work(self) -> None:
        # Ray blocks Ctrl-C in its workers' threads, and processes that a thread starts inherit the blocked signals.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            self._code = self._run(self._order.near) if self._is_near else self._run_far(self._order.far)
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or b"").decode(errors="replace").strip().splitlines()
            self._error = f"git {error.cmd[1]}: {lines[-1] if lines else 'failed'}"
        except Exception as error:  # the launcher gets it, or nobody would know
            self._error = f"{type(error).__name__}: {error}"
        finally:
            self._over.set()

    def _run_far(self, job: FarJob | None) -> int:
        if job is None:
            raise RuntimeError("this node does not see the workspace, and the sweep was started for nodes that do")
        self._folder = FarFolder(find_scratch(), job)
        try:
            self._folder.make()
            return self._run(self._folder.command())
        except BaseException:
            self._folder.remove()
            raise

    def _run(self, command: JobCommand) -> int:
        with self._lock:
            if self._is_asked:
                return NOT_STARTED
            with open(command.log, "ab") as log:
                process = self._process = subprocess.Popen(
                    [sys.executable, *command.arguments], cwd=command.folder, env=_make_environment(command),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        return process.wait()

    def _end_late(self) -> None:
        """End this process some time after the job, or it would hold Ray's resources for ever."""
        self._over.wait()
        time.sleep(SECONDS_TO_BE_ASKED)
        os._exit(0)


def _make_environment(command: JobCommand) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(NOT_OF_A_JOB)}
    path = os.pathsep.join([os.path.dirname(sys.executable), inherited.get("PATH", "")])
    return {**inherited, **command.environment, "PATH": path, "PYTHONUNBUFFERED": "1"}


def _read_text(file: str) -> str | None:
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
