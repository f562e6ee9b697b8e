"""A clone of the user's repository is whole, whatever git does there meanwhile."""

import hashlib
import os
import subprocess
import time
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from threading import Thread, Timer

from bakeoff.foundation.clone import make_clone
from bakeoff.foundation.git import git_beside_gc
from support.workspace_copy import environment

OBJECTS, IN = 2_000, "7f"  # in one folder, which git lists as a whole before it links what is in it


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, env=environment())


def is_in_that_folder(text: str) -> bool:
    return hashlib.sha1(f"blob {len(text)}\0{text}".encode(), usedforsecurity=False).hexdigest().startswith(IN)


def test_a_clone_beside_which_git_removes_what_it_packed_is_made_again(place: Path) -> None:
    git("init", "--quiet")
    for text in islice(filter(is_in_that_folder, map(str, count())), OBJECTS):
        (place / text).write_text(text)
    git("add", "--all")
    git("commit", "--quiet", "--message", "many")
    git("repack", "-a", "-q")  # the first half of `git gc`
    clone, loose = place.parent / "clone", [*(place / ".git/objects" / IN).iterdir()]

    def remove_what_is_packed() -> None:
        end = time.monotonic() + 60
        while not (clone / ".git/objects" / IN).exists() and time.monotonic() < end:
            pass
        for path in loose:
            with suppress(FileNotFoundError):
                os.unlink(path)

    thread = Thread(target=remove_what_is_packed)
    thread.start()
    make_clone(clone, "HEAD")
    thread.join()
    assert len([*clone.glob("[0-9]*")]) == OBJECTS


def test_a_command_beside_git_waits_until_the_repository_is_at_rest(place: Path) -> None:
    """A `git gc` of many objects takes longer than a few tries; here a repository is made meanwhile."""
    timer, tries = Timer(0.3, lambda: git("init", "--quiet")), []
    timer.start()
    assert git_beside_gc("rev-parse", "--git-dir", folder=place, clean=lambda: tries.append(1)) == ".git"
    assert tries
    timer.join()
