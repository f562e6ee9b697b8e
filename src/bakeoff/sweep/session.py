"""The processes of one job. It leads a session of its own, so that what it leaves behind can be told from others.

What sends to MLflow is not the job's: it has a session of its own, too.
"""

import json
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

import psutil

from bakeoff.files import write_whole
from bakeoff.runs.process import Process

SECONDS_TO_END = 60.0  # training saves its state first
SECONDS_BETWEEN_LOOKS = 0.1
INTERRUPT = signal.SIGINT
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has but the one
POSIX = os.name == "posix"


def note(file: Path) -> None:
    """This process leads."""
    write_whole(file, json.dumps(asdict(Process.own())))


def noted(file: Path) -> int | None:
    """The number of the session whose leader noted itself there; None if there can be nothing left of it.

    A number is not given again as long as the session has a process; if another process has it, nothing is left.
    """
    try:
        leader = Process(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    own = Process.own()
    if (leader.host, leader.boot, leader.namespace) != (own.host, own.boot, own.namespace):
        return None
    return leader.pid if leader.is_alive() or _is_ended(leader.pid) else None


def members(session: int) -> list[int]:
    """Those that run; a process that asks this of its own session is not meant."""
    found = [pid for pid in psutil.pids() if _session_of(pid) == session] if POSIX else _family(session)
    return [pid for pid in found if pid != os.getpid() and not _is_ended(pid)]


def end(session: int, *, asked: bool = False) -> None:
    """All of it: asked first, as Ctrl-C does, so that training saves; killed if it does not listen."""
    for number in (INTERRUPT, signal.SIGTERM):
        if not (asked and number == INTERRUPT):
            ask(session, number)
        if wait(session, SECONDS_TO_END):
            return
    ask(session, KILL)
    wait(session, SECONDS_TO_END)


def ask(session: int, number: int) -> None:
    for pid in members(session):
        try:
            os.kill(pid, number)
        except OSError:  # it has just ended
            continue


def wait(session: int, seconds: float) -> bool:
    """Whether it has ended by then."""
    until = time.monotonic() + seconds
    while members(session):
        if time.monotonic() > until:
            return False
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return True


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _family(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return []


def _is_ended(pid: int) -> bool:
    """Or of which only the entry is left."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True
