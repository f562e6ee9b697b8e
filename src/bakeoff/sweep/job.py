"""One job: `dvc exp run --temp` as a child process with its own log."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

POSIX = os.name == "posix"
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_TO_END = 60  # training saves its state first
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has but the one


def exp_run(name: str, options: tuple[str, ...], until: str | None) -> list[str]:
    changes = [part for option in options for part in ("-S", option)]
    return [sys.executable, "-m", "dvc", "exp", "run", "--temp", "--name", name, *changes, *([until] if until else [])]


def run_job(command: list[str], log: Path, show: Callable[[str], None]) -> int:
    """Its exit code. Ctrl-C ends the child, and nothing else, before it goes on as KeyboardInterrupt."""
    with log.open("wb") as out, log.open(encoding="utf-8", errors="replace") as written:
        # A session of its own: Ctrl-C reaches the child once, through us, and together with the stage that it runs.
        child = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=_environment(os.environ),
            start_new_session=True, preexec_fn=_hear_interrupts if POSIX else None,
        )  # fmt: skip
        try:
            tail = ""
            while True:
                ended = child.poll() is not None
                *lines, tail = (tail + written.read()).split("\n")
                for line in lines:
                    show(line)
                if ended:
                    if tail:
                        show(tail)
                    return child.returncode
                time.sleep(SECONDS_BETWEEN_LOOKS)
        finally:
            if child.poll() is None:
                _end(child)


def _hear_interrupts() -> None:
    """A shell that starts a sweep in the background has it ignore Ctrl-C, and its children would, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        _signal(child, number)
        try:
            child.wait(SECONDS_TO_END)
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # it takes too long, or for whoever waits
            continue
    _signal(child, KILL)
    child.wait()


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    if POSIX:
        os.killpg(child.pid, number)
    elif number != signal.SIGINT:  # Windows gives Ctrl-C to every process of the console by itself
        child.terminate()


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Stages run `python`, which must be the one that runs this; and a log that is written at once can be followed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), *filter(None, [own.get("PATH")])])
    return {**own, "PATH": path, "PYTHONUNBUFFERED": "1"}
