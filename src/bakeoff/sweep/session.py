"""The processes of one job. It leads a session of its own, so that what it leaves behind can be told from others.

What an MLflow sender does is not the job's: it has a session of its own, too.
"""

import json
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

import psutil

from bakeoff.runs.process import Process

SECONDS_TO_END = 60.0  # training saves its state first
SECONDS_BETWEEN_LOOKS = 0.1
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has but the one
INTERRUPT = signal.SIGINT
POSIX = os.name == "posix"


def note(file: Path) -> None:
    """This process leads."""
    partial = file.with_name(f"{file.name}.partial")
    partial.write_text(json.dumps(asdict(Process.own())), encoding="utf-8")
    partial.replace(file)


def leader(file: Path) -> Process | None:
    try:
        return Process(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def members(process: Process) -> list[int]:
    """Of its session, those that run; nothing if the machine was started anew or has given the number again."""
    own = Process.own()
    if (process.host, process.boot, process.namespace) != (own.host, own.boot, own.namespace):
        return []
    if not process.is_alive() and not _is_ended(process.pid):  # another process goes by its number
        return []
    if not POSIX:
        return _family(process.pid)
    return [pid for pid in psutil.pids() if _session_of(pid) == process.pid and not _is_ended(pid)]


def end(process: Process, *, asked: bool = False) -> None:
    """All of it: asked first, as Ctrl-C does, so that training saves; killed if it does not listen."""
    for number in (INTERRUPT, signal.SIGTERM):
        if not (asked and number == INTERRUPT):
            ask(process, number)
        if wait(process):
            return
    ask(process, KILL)
    wait(process)


def ask(process: Process, number: int) -> None:
    for pid in members(process):
        try:
            os.kill(pid, number)
        except OSError:  # it has just ended
            continue


def wait(process: Process, seconds: float = SECONDS_TO_END) -> bool:
    """Whether it has ended by then."""
    until = time.monotonic() + seconds
    while members(process):
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
    """Of which only the entry is left."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True
