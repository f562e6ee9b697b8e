"""A commit -> a workspace in which nothing ran yet, with git's and DVC's objects of this one; and commands run in it.

It is a repository of its own below `.bakeoff/reproduce/`, which has this one's objects and writes none of them. So the
workspace, the index, the branches and the list of worktrees stay as they are, whatever happens in it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock

from bakeoff.foundation import dvc
from bakeoff.foundation.clone import make_clone, share_cache
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.git import run
from bakeoff.foundation.workspace import main_workspace
from bakeoff.tracking.journal.journal_folder import is_held

KEPT = "kept-"  # before the name of a workspace that stays
SECONDS_TO_END = 20
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has but the one
# Of an experiment that DVC may be running around us; the workspace is no part of it.
NOT_TAKEN_ALONG = ("DVC_", "GIT_", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT")
CHATTER = (
    "To track the changes with git", "\tgit add", "To enable auto staging", "\tdvc config core.autostage",
    "Use `dvc push`", "Updating lock file", "Generating lock file", "Running stage", "> ", "Stage '",
)  # fmt: skip


@contextmanager
def fresh_workspace(commit: str, patch: bytes | None, *, keep: bool) -> Iterator[Path]:
    """Yield the folder that is the workspace, gone at the end however that comes, unless it is to be kept."""
    place = main_workspace() / ".bakeoff/reproduce"
    place.mkdir(parents=True, exist_ok=True)
    _clear(place)
    folder = place / f"{KEPT if keep else ''}{time.strftime('%Y%m%d-%H%M%S')}-{uuid4().hex[:6]}"
    lock = FileLock(_lock_of(folder), thread_local=False)
    lock.acquire()
    try:
        yield _make(folder, commit, patch)
    finally:
        if not keep:
            _remove(folder)
        lock.release()
        _lock_of(folder).unlink(missing_ok=True)
        with suppress(OSError):
            place.rmdir()  # if it is empty


def has_remote(workspace: Path) -> bool:
    files = (workspace / ".dvc/config", workspace / ".dvc/config.local")
    return any("['remote " in file.read_text(encoding="utf-8") for file in files if file.is_file())


def run_command(
    command: Sequence[str], folder: Path, show: Callable[[str], None], variables: Mapping[str, str] | None = None
) -> tuple[int, list[str]]:
    """Run a command, with more `variables`, and show it line by line; return its exit code and its words. Ctrl-C ends
    it, and then continues as KeyboardInterrupt."""
    lines, environment = [], _environment(folder, command[0]) | dict(variables or {})
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", start_new_session=True,
    ) as child:  # fmt: skip
        try:
            assert child.stdout
            for line in child.stdout:
                lines.append(line.rstrip())
                if lines[-1] and not lines[-1].startswith(CHATTER):
                    show(lines[-1])
            return child.wait(), lines
        finally:
            if child.poll() is None:
                _end(child)


def _make(folder: Path, commit: str, patch: bytes | None) -> Path:
    main = main_workspace()
    workspace = make_clone(folder, commit)
    if patch and b"diff --git " in patch:
        try:
            run("apply", "--whitespace=nowarn", "-", folder=folder, given=patch)
        except WorkspaceError as error:
            raise WorkspaceError(f"source/changes.diff: does not apply to commit {commit[:12]} ({error})") from None
    if not (workspace / "dvc.yaml").is_file():
        raise WorkspaceError(f"commit {commit[:12]}: has no dvc.yaml, so there are no stages to run")
    share_cache(workspace, (main / dvc.answer("cache", "dir", folder=main)).resolve())
    return workspace


def _end(child: subprocess.Popen[str]) -> None:
    """End it with the stage that it runs; nothing of it is wanted any more."""
    for number in (signal.SIGTERM, KILL):
        if os.name == "posix":
            os.killpg(child.pid, number)
        else:
            child.terminate()
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            child.wait(SECONDS_TO_END)
            break
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(child.pid, KILL)  # ends what is left of its process group


def _environment(folder: Path, python: str) -> dict[str, str]:
    """Leave out what is DVC's around us; its files about the workspace stay in it. Another Python finds its own code
    and programs first."""
    others = ("PYTHONPATH", "VIRTUAL_ENV") if python != sys.executable else ()
    kept = {key: value for key, value in os.environ.items() if not key.startswith((*NOT_TAKEN_ALONG, *others))}
    return dvc.environment(kept, python) | {"DVC_SITE_CACHE_DIR": str(folder / ".dvc/tmp/site")}


def _clear(place: Path) -> None:
    """Remove what a process left that was killed."""
    for folder in place.iterdir():
        lock = _lock_of(folder)
        if folder.is_dir() and not folder.name.startswith(KEPT) and not is_held(FileLock(lock)):
            _remove(folder)
            lock.unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _remove(folder: Path) -> None:
    """DVC's links are read-only, which some systems do not delete."""

    def allow(function: object, path: str, error: object) -> None:
        with suppress(OSError):
            os.chmod(Path(path).parent, 0o700)
            Path(path).unlink()

    for _ in range(3):  # a child that is ending may still write
        shutil.rmtree(folder, onerror=allow)
        if not folder.exists():
            return
        time.sleep(0.2)
    print(f"warning: {folder}: could not be removed whole", file=sys.stderr)
