"""A command in another workspace, line by line; it ends with whoever waits for it."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from bakeoff import dvc

SECONDS_TO_END = 20
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has but the one
# Of an experiment that DVC may be running around us; the workspace is no part of it.
NOT_TAKEN_ALONG = ("DVC_", "GIT_", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT")
CHATTER = (
    "To track the changes with git", "\tgit add", "To enable auto staging", "\tdvc config core.autostage",
    "Use `dvc push`", "Updating lock file", "Generating lock file", "Running stage", "> ", "Stage '",
)  # fmt: skip


def run(command: Sequence[str], folder: Path, show: Callable[[str], None]) -> tuple[int, list[str]]:
    """Its exit code and its words. Ctrl-C ends it, and then goes on as KeyboardInterrupt."""
    lines = []
    with subprocess.Popen(
        command, cwd=folder, env=_environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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


def _end(child: subprocess.Popen[str]) -> None:
    """With the stage that it runs; nothing of it is wanted any more."""
    for number in (signal.SIGTERM, KILL):
        if os.name == "posix":
            os.killpg(child.pid, number)
        else:
            child.terminate()
        try:
            child.wait(SECONDS_TO_END)
            break
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            continue
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(child.pid, KILL)  # whoever of its group is left


def _environment(folder: Path) -> dict[str, str]:
    """DVC's files about the workspace stay in it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(NOT_TAKEN_ALONG)}
    return dvc.environment(kept) | {"DVC_SITE_CACHE_DIR": str(folder / ".dvc/tmp/site")}
