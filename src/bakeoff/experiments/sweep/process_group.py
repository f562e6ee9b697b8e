"""The processes of one job. It leads a session of its own, so that processes that it leaves behind can be found.

The process that sends to MLflow is not the job's. It has a session of its own, too.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import psutil

from bakeoff.experiments.runs.process_id import Process
from bakeoff.foundation.files import read_json, write_whole

SECONDS_TO_END = 60.0  # training saves its state first
SECONDS_BETWEEN_CHECKS = 0.1
POSIX = os.name == "posix"
INTERRUPT = signal.SIGINT if POSIX else signal.SIGTERM  # Windows has only SIGTERM
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def note_leader(file: Path) -> None:
    write_whole(file, json.dumps(asdict(Process.current())))


def is_noted(file: Path) -> bool:
    """Return whether this process was the last that noted itself in the file."""
    return read_json(file) == asdict(Process.current())


def find_noted_session(file: Path) -> int | None:
    """Return the number of the session whose leader noted itself in the file, or None if no process of it can be left.

    The system gives the number to no other process as long as the session has one. So if another process has it, none
    is left.
    """
    try:
        leader = Process(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    this = Process.current()
    if (leader.host, leader.boot, leader.namespace) != (this.host, this.boot, this.namespace):
        return None
    return leader.pid if leader.is_alive() or _find_running(leader.pid) is None else None


def follow_parent() -> None:
    """From now on, end this process's session once the process that started it is gone."""
    parent = os.getppid()

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_CHECKS)
        ask(os.getpid(), signal.SIGTERM)
        if not wait(lambda: not list_members(os.getpid()), SECONDS_TO_END):
            ask(os.getpid(), KILL)

    threading.Thread(target=follow, name="parent", daemon=True).start()


def list_members(session: int) -> list[psutil.Process]:
    """Return the running processes of a session, but for the process that asks.

    psutil recognises each by its number and its start. So a signal does not reach a process that got the number later.
    """
    numbers = [pid for pid in psutil.pids() if _find_session(pid) == session] if POSIX else _list_family(session)
    processes = (_find_running(pid) for pid in numbers if pid != os.getpid())
    return [process for process in processes if process is not None]


def end(session: int, *, asked: bool = False) -> None:
    """End all processes of a session."""
    end_by_signals(partial(ask, session), lambda: not list_members(session), asked=asked)


def end_by_signals(ask: Callable[[int], None], is_over: Callable[[], bool], *, asked: bool = False) -> None:
    """End processes: they are asked first, as Ctrl-C does, so that training saves, and killed in the end. If they were
    `asked` to end, wait first.
    """
    for number in (INTERRUPT, signal.SIGTERM, KILL):
        if not (asked and number == INTERRUPT):
            ask(number)
        if wait(is_over, SECONDS_TO_END):
            return


def ask(session: int, number: int) -> None:
    """Send a signal to all processes of a session."""
    for process in list_members(session):
        with suppress(psutil.Error):  # it has just ended
            process.send_signal(number)


def wait(is_over: Callable[[], bool], seconds: float) -> bool:
    """Wait until processes have ended, and return whether they did in time."""
    until = time.monotonic() + seconds
    # Members may start others meanwhile, and psutil.wait_procs would take a child's exit code from its Popen.
    while not is_over():
        if time.monotonic() > until:
            return False
        time.sleep(SECONDS_BETWEEN_CHECKS)
    return True


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that a process started with, empty if it has ended."""
    with suppress(psutil.Error):
        return dict(psutil.Process(pid).environ())
    return {}


def _find_running(pid: int) -> psutil.Process | None:
    """Return a process, or None if it has ended, also if its entry is left."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.Error:
        return None


def _find_session(pid: int) -> int | None:
    with suppress(OSError):
        return os.getsid(pid)
    return None


def _list_family(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return []
