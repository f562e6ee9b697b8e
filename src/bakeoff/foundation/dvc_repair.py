"""Repair what a kill or a loss of power leaves of DVC's own files, and bring what DVC wrote to the disk.

On some of it DVC fails from then on; the rest it takes for whole. docs/dvc-defects.md has a script for each.
"""

import filecmp
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import sync_disk, sync_names, write_whole

SECONDS_TO_WRITE, SECONDS_BETWEEN_CHECKS = 5.0, 0.1  # of a small file
LOCK, KEPT_LOCK = Path("dvc.lock"), Path(".dvc/tmp/dvc.lock")  # KEPT_LOCK is a copy from before or after a command
BEFORE = "before the last command"
HOLDERS = Path(".dvc/tmp/rwlock")  # which process reads and writes what
OBJECTS, READ_ONLY = "files/md5", 0o444  # DVC gives this mode to a file that it has written completely
MARK = "files/synced"  # every file of the cache that is older than this mark has reached the disk
COPYING = ".tmp"  # ends the name of a file while DVC copies it into its cache
SECONDS_WITHOUT_A_WRITE = 600  # DVC writes 1 MB at a time, so no living process copies more slowly


def repair(cache: Path) -> None:
    """Repair what DVC left half written in this workspace and in its cache, and print what was done."""
    repair_holders()
    repair_lock()
    if cache.parent.is_dir():  # the disk of the cache is mounted
        cache.mkdir(exist_ok=True)  # so that the mark is older than every later file
    repair_cache(cache)


def repair_cache(cache: Path) -> None:
    """Remove what is not whole of all that came since DVC's cache was last known to be on the disk."""
    since = _mark(cache)
    if keys := _newer_keys(cache, since):
        clear_half_written(cache)
    objects = [*_newer_objects(cache, since)]
    if since:
        damaged = [path for path in objects if not _is_whole_object(path)]
        damaged += [path for key in keys for path in map(Path, _list_newer(key, since)) if not _is_whole_entry(path)]
    else:  # without a mark the cache may be large: only empty files are checked
        damaged = [path for path in objects if not path.stat().st_size and not _is_whole_object(path)]
    for path in damaged:
        path.unlink(missing_ok=True)  # another process may repair at the same time
    if damaged:
        for key in keys:
            with suppress(OSError):  # the folder has other entries
                os.rmdir(key)
        _report(f"{len(damaged)} files of DVC's cache were not whole, and are gone; `dvc repro` makes them again")
    if keys or objects or not since:
        _sync(cache)


def settle(cache: Path) -> None:
    """Bring to the disk what DVC wrote since the last call, and note in the cache when that was.

    A loss of power can take what is newer than this note, though its name is there.
    """
    since = _mark(cache)
    if not since or not _is_kept() or _list_newer(cache / OBJECTS, since):
        _sync(cache)


def _sync(cache: Path) -> None:
    if cache.is_dir():
        mark, now = cache / MARK, cache / f"{MARK}.{os.getpid()}.partial"
        now.parent.mkdir(parents=True, exist_ok=True)
        now.touch()  # files that come from here on are newer than the mark
        _clear_half_copied(cache)
        for folder in (cache, Path()):
            sync_disk(folder)
        if any(_list_half_written(cache)):
            now.unlink()
        else:
            now.replace(mark)
            sync_names(mark.parent)


def _clear_half_copied(cache: Path) -> None:
    """Remove copies that no process continues, which DVC leaves in its cache for ever. A younger one may be alive.

    A stamp that is so far ahead is of a clock that was: no process has written that file just now.
    """
    left = []
    for folder in [str(cache / OBJECTS), *_list_newer(cache / OBJECTS, 0)]:
        for path in _list_newer(folder, 0):
            with suppress(OSError):  # its process has just finished it
                if path.endswith(COPYING) and abs(time.time() - os.stat(path).st_mtime) > SECONDS_WITHOUT_A_WRITE:
                    os.unlink(path)
                    left.append(path)
    if left:
        _report(f"{len(left)} half-copied files of DVC's cache are gone")


def _mark(cache: Path) -> int:
    """Return the time up to which everything is on the disk; 0 if that was never noted.

    After a clock that was ahead, nothing tells what came since the mark, and every file is checked.
    """
    with suppress(FileNotFoundError):
        at = (cache / MARK).stat().st_mtime_ns
        return at if at <= time.time_ns() else 1
    return 0


def _list_newer(folder: str | Path, since: int) -> list[str]:
    """Return what was written in a folder since then; a folder in it counts if a name in it was written."""
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if not since or entry.stat().st_mtime_ns >= since]
    except OSError:  # nothing was written yet, or it is a file
        return []


def _newer_objects(cache: Path, since: int) -> Iterator[Path]:
    """Yield the files that DVC takes for whole without reading them, because they are read-only."""
    for folder in _list_newer(cache / OBJECTS, since):
        for path in map(Path, _list_newer(folder, 0)):
            with suppress(FileNotFoundError):  # another process repairs at the same time
                stat = path.lstat()
                if stat.st_ctime_ns >= since and S_IMODE(stat.st_mode) == READ_ONLY and len(path.stem) == 30:
                    yield path


def _newer_keys(cache: Path, since: int) -> list[str]:
    """Return the folders of the run cache in which a name was written since then."""
    return [key for folder in _list_newer(cache / "runs", 0) for key in _list_newer(folder, since)]


def _is_whole_object(path: Path) -> bool:
    """Return whether a file has the digest that its name holds, or is gone."""
    import hashlib

    with suppress(FileNotFoundError), path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        return digest == path.parent.name + path.stem
    return True


def _is_whole_entry(path: Path) -> bool:
    """Return whether an entry of the run cache has the content that its name stands for, or is gone."""
    from dvc.exceptions import DvcException
    from dvc.utils import dict_sha256
    from dvc.utils.serialize import load_yaml

    with suppress(DvcException, AttributeError, TypeError, FileNotFoundError):
        return bool(dict_sha256(load_yaml(str(path)), exclude=["size", "nfiles"]) == path.name)
    return not path.exists()


def clear_half_written(cache: Path) -> None:
    """Remove what a kill left in the run cache, which DVC takes for a whole entry: a file, or a folder without one.

    A young one may be of a process that writes it now, and is waited for. There is no mark while one is there.
    """
    removed, watch = 0, WriteWatch()
    while left := [*_list_half_written(cache)]:
        for path in left:
            with suppress(OSError):  # its process has just finished it
                if watch.is_left(path):
                    path.rmdir() if path.is_dir() else path.unlink()
                    removed += 1
        time.sleep(SECONDS_BETWEEN_CHECKS)
    if removed:
        _report(f"{removed} half-written entries of DVC's run cache are gone")


def _list_half_written(cache: Path) -> Iterator[Path]:
    for key in _newer_keys(cache, _mark(cache)):
        with suppress(OSError):  # it has just gone
            names = os.listdir(key)
            yield from [Path(key, name) for name in names if name.endswith(COPYING)] if names else [Path(key)]


class WriteWatch:
    """Tells whether the process that wrote a file has left it: the file is old, or stays as it is while we look.

    The stamp of a file that was written before the clock went back is ahead of the clock, and says nothing.
    """

    def __init__(self) -> None:
        self._since: dict[tuple[Path, int, int, int], float] = {}

    def is_left(self, path: Path) -> bool:
        state, now = path.stat(), time.monotonic()
        since = self._since.setdefault((path, state.st_ino, state.st_mtime_ns, state.st_size), now)
        return max(time.time() - state.st_mtime, now - since) > SECONDS_TO_WRITE


def repair_holders() -> None:
    """Remove DVC's list of who holds which file, if a kill left it half written: no living process can read it."""
    watch = WriteWatch()
    while HOLDERS.is_file():
        try:
            json.loads(HOLDERS.read_bytes())
            return
        except ValueError:
            if watch.is_left(HOLDERS):
                HOLDERS.unlink()
                _report(f"{HOLDERS.as_posix()} was left half written, and is gone")
            else:  # of a process that writes it now
                time.sleep(SECONDS_BETWEEN_CHECKS)


def repair_lock() -> None:
    """Put a half-written dvc.lock back as it last was whole; what stages made since is in the run cache."""
    watch = WriteWatch()
    while not _is_kept():
        if _is_whole(LOCK.read_bytes()):
            keep_lock()
        elif not watch.is_left(LOCK):
            time.sleep(SECONDS_BETWEEN_CHECKS)
        else:
            content, source = _last_whole_lock()
            write_whole(LOCK, content.decode(), lasting=True) if content else LOCK.unlink()
            _report(f"dvc.lock was left half written; it is again as {source}")


def keep_lock() -> None:
    if not _is_kept():
        write_whole(KEPT_LOCK, LOCK.read_bytes().decode(), lasting=True)


def _is_kept() -> bool:
    with suppress(FileNotFoundError):
        return filecmp.cmp(LOCK, KEPT_LOCK, shallow=False)
    return not LOCK.is_file()


def _last_whole_lock() -> tuple[bytes, str]:
    """Return its content, empty if there is none, and where it is from."""
    if KEPT_LOCK.is_file() and _is_whole(content := KEPT_LOCK.read_bytes()):
        return content, BEFORE
    from bakeoff.foundation.git import run

    with suppress(OSError, WorkspaceError):  # no git, or no commit
        content = run("show", f"HEAD:./{LOCK}")
        if _is_whole(content):
            return content, "in the last commit"
    return b"", BEFORE


def _is_whole(content: bytes) -> bool:
    """Return whether a lock is complete. A merge's conflict counts as complete, for DVC names it."""
    import yaml

    with suppress(yaml.YAMLError, UnicodeDecodeError):
        text = content.decode()
        return "<<<<<<< " in text or (text.endswith("\n") and not text.endswith(":\n") and bool(yaml.safe_load(text)))
    return False


def _report(text: str) -> None:
    print(f"repaired: {text}", file=sys.stderr, flush=True)
