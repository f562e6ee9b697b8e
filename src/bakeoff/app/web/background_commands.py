"""Commands that the page runs, as a user would type them: `.bakeoff/web/errands/<id>/`.

errand.json  what it is for, and the commands in their order
log.txt      each command and what it printed
ended.json   the exit code of the last command; missing while it runs, or if it was killed

    python -m bakeoff.app.web.background_commands .bakeoff/web/errands/20260102-030405-5f3c9a

runs one. It is a process of its own, which continues when the page's server ends.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from filelock import FileLock

from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.safe_paths import own_folder
from bakeoff.experiments.runs.cleanup import is_held_file
from bakeoff.experiments.sweep.sweep_manifest import LOCK
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.errors import INTERRUPTED, DataError
from bakeoff.foundation.files import read_json, write_whole

KEY = re.compile(r"[A-Za-z0-9-]{6,64}")
NAME = re.compile(r"\d{8}-\d{6}-[A-Za-z0-9-]{6,64}")
ERRAND, LOG, ENDED, HELD = "errand.json", "log.txt", "ended.json", "lock"
KEPT = 50  # errands; older ones that are over are removed
MOST_SHOWN = 40_000  # characters of a log
RUN_THE_QUEUE = "Run the queue"
SECONDS_TO_LEAVE = 3.0  # of a process that runs the queue and has just found it empty
QUEUE = ("bakeoff", "queue", "start", "--quiet")
PROGRAMS = {"bakeoff": ("-m", "bakeoff"), "dvc": ("-m", "bakeoff.foundation.dvc")}  # by this Python, whatever PATH has


@dataclass(frozen=True)
class BackgroundCommand:
    id: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    began: float
    state: str  # "runs", "done", "stopped", "failed" or "cut short"
    notes: tuple[str, ...] = ()  # files that were written before
    after: str = ""  # the address that the page opens when it is done

    def is_of(self, key: str) -> bool:
        """Return whether this press of a button began the errand. A failed errand may begin again."""
        return self.id.endswith(f"-{key}") and self.state in ("runs", "done")

    @property
    def words(self) -> str:
        return "under way" if self.state == "runs" else self.state

    @property
    def lines(self) -> list[str]:
        return [shlex.join(command) for command in self.commands]

    @property
    def log(self) -> str:
        """Return the end of what was printed."""
        try:
            text = (folder_of(self.id) / LOG).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(line.rpartition("\r")[2] for line in text[-MOST_SHOWN:].split("\n"))

    @property
    def last_line(self) -> str:
        lines = [line for line in self.log.splitlines() if line.strip() and not line.startswith("$ ")]
        return lines[-1].strip() if lines else ""


def find(key: str, command: Sequence[str]) -> BackgroundCommand | None:
    """Return the errand that a key began, or one under way that runs this command."""
    runs = (one for one in list_recent() if one.is_of(key) or (one.state == "runs" and tuple(command) in one.commands))
    return next(runs, None)


def folder_of(errand: str) -> Path:
    if not NAME.fullmatch(errand):
        raise NotFound(f"{errand!r}: no such errand")
    return own_folder("errands") / errand


def begin(
    key: str, title: str, commands: Sequence[Sequence[str]], *, notes: Sequence[str] = (), after: str = ""
) -> BackgroundCommand:
    """Begin an errand; one with the same key, or one under way with the same commands, is returned instead.

    So a double click, the Back button and a second tab begin nothing twice. What has failed begins again.
    """
    if not KEY.fullmatch(key):
        raise DataError("key: must be 6 to 64 letters, digits and -; reload the page")
    wanted = tuple(tuple(command) for command in commands)
    own_folder("errands").mkdir(parents=True, exist_ok=True)
    with FileLock(own_folder("errands") / "begin.lock"):
        for other in list_recent():
            if other.is_of(key) or (other.state == "runs" and other.commands == wanted):
                return other
        _remove_old()
        errand = BackgroundCommand(
            f"{time.strftime('%Y%m%d-%H%M%S')}-{key}", title, wanted, time.time(), "runs", tuple(notes), after
        )
        folder = folder_of(errand.id)
        folder.mkdir()
        write_whole(folder / ERRAND, json.dumps(asdict(errand), indent=1) + "\n")
        _start(folder)
        return errand


def begin_queue() -> BackgroundCommand | None:
    """Run the queue, unless somebody runs it or nothing is in line."""
    from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps

    if not list_queued_sweeps() or is_held_file(workspace.queue() / LOCK):
        return None
    return begin(f"queue-{time.time_ns()}", RUN_THE_QUEUE, [QUEUE])


def list_recent(most: int = KEPT) -> list[BackgroundCommand]:
    """List errands, the newest first."""
    root = own_folder("errands")
    names = [path.name for path in root.iterdir() if NAME.fullmatch(path.name)] if root.is_dir() else []
    errands = (load(name) for name in sorted(names, reverse=True)[:most])
    return [errand for errand in errands if errand is not None]


def load(errand: str) -> BackgroundCommand | None:
    folder = folder_of(errand)
    tree = read_json(folder / ERRAND)
    if not tree:
        return None
    commands = tuple(tuple(command) for command in tree.pop("commands"))
    return BackgroundCommand(
        **{**tree, "commands": commands, "notes": tuple(tree["notes"]), "state": _state(folder, tree)}
    )


def _state(folder: Path, tree: dict[str, Any]) -> str:
    is_new = abs(time.time() - tree["began"]) < 10  # its process may not hold the lock yet
    is_held = is_new or is_held_file(folder / HELD)  # looked at first: it is let go after the code was written
    code = read_json(folder / ENDED).get("code")
    if code is None:
        return "runs" if is_held else "cut short"
    return {0: "done", INTERRUPTED: "stopped"}.get(code, "failed")  # "stopped": as the queue ends, whose training was


def _start(folder: Path) -> None:
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff.app.web.background_commands", str(folder)],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    Thread(target=process.wait, daemon=True).start()  # collects the exit code, so that no zombie process stays


def _remove_old() -> None:
    import shutil

    for errand in list_recent(10_000)[KEPT:]:
        if errand.state != "runs":
            shutil.rmtree(folder_of(errand.id), ignore_errors=True)


def main() -> None:
    """Run the commands of an errand, each after the one before has succeeded."""
    folder, code = Path(sys.argv[1]), 0
    with FileLock(folder / HELD):
        tree = json.loads((folder / ERRAND).read_text(encoding="utf-8"))
        for command in tree["commands"]:
            if tuple(command) == QUEUE and tree["title"] != RUN_THE_QUEUE:
                begin_queue()  # in a process of its own, which ends when the queue is empty
                time.sleep(SECONDS_TO_LEAVE)
                begin_queue()  # somebody ran it, and did not see what was added last
                continue
            print(f"$ {shlex.join(command)}", flush=True)
            code = subprocess.run(_argv(command), check=False, env=dvc.environment(os.environ)).returncode
            if code < 0:
                print(f"{command[0]} {command[1]}: was killed by signal {-code}", flush=True)
            if code:
                break
        write_whole(folder / ENDED, json.dumps({"code": code, "ended": time.time()}) + "\n")


def _argv(command: Sequence[str]) -> list[str]:
    own = PROGRAMS.get(command[0])
    return [sys.executable, *own, *command[1:]] if own else [*command]


if __name__ == "__main__":
    main()
