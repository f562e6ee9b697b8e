"""The queue: sweeps in line, first in, first out; for each an empty file, `.bakeoff/queue/000012-<id of the sweep>`.

A sweep is in line from when it is added until it is over. Whoever runs the queue finds it there, also after a crash.
"""

from pathlib import Path

from filelock import FileLock

from bakeoff import workspace
from bakeoff.errors import WorkspaceError, choices

DIGITS = 6


def line() -> list[str]:
    """Ids of sweeps, the first in line first."""
    return [file.name[DIGITS + 1 :] for file in _files()]


def add(sweep: str) -> None:
    """At the end."""
    folder = workspace.queue()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "line.lock"):  # two who add at once get two places
        last = max((int(file.name[:DIGITS]) for file in _files()), default=0)
        (folder / f"{last + 1:0{DIGITS}}-{sweep}").touch()


def leave(sweep: str) -> None:
    for file in _files():
        if file.name[DIGITS + 1 :] == sweep:
            file.unlink(missing_ok=True)


def named(name: str) -> str:
    """By the beginning of its id."""
    waiting = line()
    found = [sweep for sweep in waiting if sweep == name] or [sweep for sweep in waiting if sweep.startswith(name)]
    if len(found) > 1:
        raise WorkspaceError(f"{name}: must name one sweep, got {len(found)}: {', '.join(found)}")
    if not found:
        raise WorkspaceError(f"{name}: must be in the queue; {choices(name, waiting)}")
    return found[0]


def _files() -> list[Path]:
    found = workspace.queue().glob(f"{'[0-9]' * DIGITS}-*") if workspace.queue().is_dir() else ()
    return sorted(found, key=lambda file: file.name)
