"""The process that copies journals to a store (`python -m bakeoff.tracking.sync.process KEY`): its start and stop.

It is the only one for its store and belongs to no terminal. It ends when nobody writes and nothing is left to send (a
little later, since the next stage of a run is likely to write soon), or when the store takes nothing for a while.
Whoever writes a journal starts it again.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.foundation.workspace import journals, main_workspace
from bakeoff.tracking.journal.journal_folder import is_being_written, is_held
from bakeoff.tracking.store.target import Target, all_journals, list_unsent, target_in

if TYPE_CHECKING:
    from filelock import FileLock

LONGEST_REQUEST_S = 60.0  # the longest wait until a sender has left
POLL_S = 0.3
FAR = "BAKEOFF_FAR"  # set where a job runs far from its main workspace, which sends for it
LONGEST_PAUSE_S = 30.0  # between two tries at a store that takes nothing
LINGER_S = 30.0  # a sender without work ends after this time
PATIENCE_S = 60.0  # after the last writer has gone, a sender tries such a store for this time


def sender_lock(key: str) -> "FileLock":
    from filelock import FileLock

    return FileLock(journals() / f"sender-{key}.lock", thread_local=False)


def is_running(key: str) -> bool:
    return is_held(sender_lock(key))


def is_far() -> bool:
    return bool(os.environ.get(FAR))


def start_sender(key: str) -> None:
    """Start it detached: it outlives this process, and keeps neither its terminal nor its pipes."""
    with (journals() / "sender.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "bakeoff.tracking.sync.process", key],
            cwd=main_workspace(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def leave_request(key: str) -> Path:
    """Return a file: whoever makes it wants to send to the store itself."""
    return journals() / f"sender-{key}.leave"


def is_asked_to_leave(key: str) -> bool:
    """Return whether another process waits for the sender to end. A killed process may have left a request behind,
    also one that is ahead of a clock that went back.
    """
    try:
        return abs(time.time() - leave_request(key).stat().st_mtime) < LONGEST_REQUEST_S
    except FileNotFoundError:
        return False


def main() -> None:
    from filelock import Timeout

    key = sys.argv[1]
    lock = sender_lock(key)
    try:
        lock.acquire(timeout=1)  # whoever asks whether a sender runs holds it for a moment
    except Timeout:
        return
    target = next(
        (candidate for folder in all_journals() if (candidate := target_in(folder)) and candidate.key == key), None
    )
    if target:
        send_until_done(target)
    lock.release()


def send_until_done(target: Target) -> None:
    from bakeoff.tracking.store.mlflow_client import load_mlflow

    load_mlflow()  # it takes seconds, and most senders find another at work
    from bakeoff.tracking.sync.send_all import Courier

    courier, lock = Courier(target), Path(sender_lock(target.key).lock_file)
    busy_at = fine_at = time.monotonic()
    pause, own = POLL_S, _number_of(lock)
    while not is_asked_to_leave(target.key) and _number_of(lock) == own:
        folders = [folder for folder in list_unsent(target) if folder not in courier.deleted]
        now = time.monotonic()
        if folders or is_written(target):
            busy_at = now
        if now - busy_at > LINGER_S:
            return
        if courier.send(folders):
            fine_at, pause = now, POLL_S
        elif now - fine_at > PATIENCE_S and not is_written(target):
            return
        else:
            pause = min(2 * pause, LONGEST_PAUSE_S)
        wait(pause, target.key)


def _number_of(file: Path) -> int | None:
    """Return another one of a file that somebody removed: then another process may have taken the place."""
    try:
        return file.stat().st_ino
    except OSError:
        return None


def is_written(target: Target) -> bool:
    return any(is_being_written(folder) for folder in all_journals() if target_in(folder) == target)


def wait(seconds: float, key: str) -> None:
    """Wait, or until somebody asks for the place."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not is_asked_to_leave(key):
        time.sleep(min(POLL_S, seconds))


if __name__ == "__main__":
    main()
