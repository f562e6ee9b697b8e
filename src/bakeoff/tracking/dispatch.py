"""The sender, as whoever writes a journal sees it: whether one runs for a store, and how to start it."""

import subprocess
import sys
import time
from pathlib import Path

from filelock import FileLock

from bakeoff.tracking.journal import FILE, is_held
from bakeoff.tracking.target import FILE as TARGET_FILE
from bakeoff.tracking.target import Target, place_in, target_in
from bakeoff.workspace import journals, main_workspace

LONGEST_REQUEST_S = 60.0  # somebody waits so long for a sender to leave


def sender_lock(key: str) -> FileLock:
    return FileLock(journals() / f"sender-{key}.lock", thread_local=False)


def is_running(key: str) -> bool:
    return is_held(sender_lock(key))


def start_sender(key: str) -> None:
    """Detached: it outlives this process, and keeps neither its terminal nor its pipes."""
    with (journals() / "sender.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "bakeoff.tracking.sender", key],
            cwd=main_workspace(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def leave_request(key: str) -> Path:
    """A file: whoever makes it wants to send to the store itself."""
    return journals() / f"sender-{key}.leave"


def is_asked_to_leave(key: str) -> bool:
    """One that nobody took away was made by a process that was killed."""
    try:
        return time.time() - leave_request(key).stat().st_mtime < LONGEST_REQUEST_S
    except FileNotFoundError:
        return False


def is_sent(folder: Path, target: Target) -> bool:
    return place_in(folder, target).offset >= (folder / FILE).stat().st_size


def all_journals() -> list[Path]:
    """Those that were written first come first: a run may name an earlier one."""
    found = [path.parent for path in journals().glob(f"*/{TARGET_FILE}") if (path.parent / FILE).is_file()]
    return sorted(found, key=lambda folder: (folder / TARGET_FILE).stat().st_mtime_ns)


def unsent(target: Target) -> list[Path]:
    """The journals meant for a store that it has not all of, those that failed less often first."""
    found = [folder for folder in all_journals() if target_in(folder) == target and not is_sent(folder, target)]
    return sorted(found, key=lambda folder: place_in(folder, target).tries)
