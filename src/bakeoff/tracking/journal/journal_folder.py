"""What a journal's folder holds, by name, and whether somebody writes it: for commands that read no entry."""

from pathlib import Path
from typing import Any

FILE, RUNNING = "journal.jsonl", "running"
LONGEST_PARAM, LONGEST_TAG = 6000, 8000  # MLflow's own limits
NOTE, NOTE_VARIABLE = "mlflow.note.content", "BAKEOFF_NOTE"  # the tag, and how --note reaches the stage that trains


def is_being_written(folder: Path) -> bool:
    from filelock import FileLock

    return is_held(FileLock(folder / "writing"))


def is_held(lock: Any) -> bool:
    """Return whether another process holds a lock, or another object of this one."""
    from filelock import Timeout  # takes 10 ms to load, and whoever only reads needs no lock

    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False
