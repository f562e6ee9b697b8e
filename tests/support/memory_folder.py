"""The folder below which pytest makes those of the tests: in memory, where there is room for it.

The tests write some ten thousands of small files. A disk spends about a millisecond on each, memory a fiftieth of that.
The proofs stay on the disk, since they ask about kills, power and full disks.
"""

import os
import shutil
from collections.abc import MutableMapping
from pathlib import Path

import psutil

VARIABLE = "PYTEST_DEBUG_TEMPROOT"  # pytest's own, by which a person chooses another place
SHARED_MEMORY = Path("/dev/shm")
ROOM = 6 * 2**30  # bytes; the suite needs less than a third, and memory is also for the tests themselves
FAST_TESTS = ("not slow and not long", "not slow")  # what `-m` says without another choice, and for all of them


def choose_root(environment: MutableMapping[str, str], marks: str, folder: Path = SHARED_MEMORY) -> None:
    """Set pytest's variable to the folder in memory if the tests are the fast ones and the folder suits them."""
    if VARIABLE not in environment and marks in FAST_TESTS and suits(folder):
        environment[VARIABLE] = str(folder)


def suits(folder: Path, room: int = ROOM) -> bool:
    """Whether programs can be written into the folder and run, and there is room in it and in memory."""
    if os.name != "posix" or not os.access(folder, os.W_OK):
        return False
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:  # as containers mount it
        return False
    return min(shutil.disk_usage(folder).free, psutil.virtual_memory().available) >= room
