"""The processes of one job. It leads a session of its own, so that what it leaves behind can be told from others.

What sends to MLflow is not the job's: it has a session of its own, too.
"""

import json
import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import psutil

from bakeoff.files import write_whole
from bakeoff.runs.process import Process

SECONDS_TO_END = 60.0  # training saves its state first
SECONDS_BETWEEN_LOOKS = 0.1
POSIX = os.name == "posix"
INTERRUPT = signal.SIGINT if POSIX else signal.SIGTERM  # Windows has but the one
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def note_leader(file: Path) -> None:
    write_whole(file, json.dumps(asdict(Process.own())))


def is_noted(file: Path) -> bool:
    """Return whether this process was the last that noted itself there."""
    try:
        return Process(**json.loads(file.read_text(encoding="utf-8"))) == Process.own()
    except (OSError, ValueError, TypeError):
        return False


def noted_session(file: Path) -> int | None:
    """Return the number of the session whose leader noted itself there; None if there can be nothing left of it.

    A number is not given again as long as the session has a process; if another process has it, nothing is left.
    """
    try:
        leader = Process(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    own = Process.own()
    if (leader.host, leader.boot, leader.namespace) != (own.host, own.boot, own.namespace):
        return None
    return leader.pid if leader.is_alive() or _find_running(leader.pid) is None else None


def follow_parent() -> None:
    """From now on, ask all of this process's session to end once the process that started it is gone."""

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        ask(os.getpid(), signal.SIGTERM)
        if not wait(os.getpid(), SECONDS_TO_END):
            ask(os.getpid(), KILL)

    parent = os.getppid()
    threading.Thread(target=follow, name="parent", daemon=True).start()


def members(session: int) -> list[psutil.Process]:
    """Those that run; a process that asks this of its own session is not meant.

    psutil recognises each by number and start, so that a signal does not reach one that got its number meanwhile.
    """
    numbers = [pid for pid in psutil.pids() if _session_of(pid) == session] if POSIX else _family(session)
    found = (_find_running(pid) for pid in numbers if pid != os.getpid())
    return [process for process in found if process is not None]


def end(session: int, *, asked: bool = False) -> None:
    """End all of it: asked first, as Ctrl-C does, so that training saves; killed if it does not listen."""
    for number in (INTERRUPT, signal.SIGTERM):
        if not (asked and number == INTERRUPT):
            ask(session, number)
        if wait(session, SECONDS_TO_END):
            return
    ask(session, KILL)
    wait(session, SECONDS_TO_END)


def ask(session: int, number: int) -> None:
    for process in members(session):
        with suppress(psutil.Error):  # it has just ended
            process.send_signal(number)


def wait(session: int, seconds: float) -> bool:
    """Whether it has ended by then."""
    until = time.monotonic() + seconds
    # Members may begin others meanwhile; and psutil.wait_procs would take a child's exit code from its Popen.
    while members(session):
        if time.monotonic() > until:
            return False
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return True


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that a process began with; nothing if it has ended."""
    with suppress(psutil.Error):
        return dict(psutil.Process(pid).environ())
    return {}


def _find_running(pid: int) -> psutil.Process | None:
    """None if it has ended, also if its entry is left."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.Error:
        return None


def _session_of(pid: int) -> int | None:
    with suppress(OSError):
        return os.getsid(pid)
    return None


def _family(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return []
