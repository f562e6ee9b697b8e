"""A campaign whose attempts end in every way, by which the frame is tested."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from bakeoff.foundation.errors import ConfigError
from proofs.attacks.campaign import Attempt, Campaign, Verdict, Wrong, run_command


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    for random in randoms:
        way = choose_way(random)
        yield Attempt(f"{way}: {os.getpid()}", partial(WAYS[way][1], folder))


def choose_way(random: Random) -> str:
    return random.choice(list(WAYS))


def refuse(_: Path) -> None:
    raise ConfigError("params.yaml: lr.peak: must be above 0, got -1")


def refuse_at_length(_: Path) -> None:
    raise ConfigError("\n".join(["params.yaml: lr.peak: must be above 0"] * 1000))


def answer_wrongly(_: Path) -> None:
    raise Wrong("2 boxes, not 3")


def compute_forever(_: Path) -> None:
    while True:
        pass


def take_and_give_back(_: Path) -> None:
    bytearray(b"x" * 300 * 10**6)


def take_in_a_command(folder: Path) -> None:
    run_python(folder, "import time; taken = b'x' * 300 * 10**6; time.sleep(60)")


def run_python(folder: Path, code: str) -> None:
    run_command([sys.executable, "-c", code], folder)


def with_python(code: str) -> Callable[[Path], None]:
    return lambda folder: run_python(folder, code)


WAYS: dict[str, tuple[Verdict, Callable[[Path], object]]] = {
    "answers": (Verdict.ANSWERED, print),
    "answers by a command": (Verdict.ANSWERED, with_python("print(1)")),
    "refuses": (Verdict.REFUSED, refuse),
    "refuses by a command": (Verdict.REFUSED, with_python("import sys; print('x: y', file=sys.stderr); sys.exit(2)")),
    "refuses at length": (Verdict.UNREADABLE, refuse_at_length),
    "raises": (Verdict.TRACEBACK, lambda _: 1 / 0),
    "raises in a command": (Verdict.TRACEBACK, with_python("1 / 0")),
    "is wrong": (Verdict.WRONG, answer_wrongly),
    "computes forever": (Verdict.HANG, compute_forever),
    "waits forever": (Verdict.HANG, lambda _: threading.Event().wait()),
    "sleeps in a command": (Verdict.HANG, with_python("import time; time.sleep(600)")),
    "takes and gives back": (Verdict.MEMORY, take_and_give_back),
    "takes in a command": (Verdict.MEMORY, take_in_a_command),
    "crashes": (Verdict.KILLED, lambda _: os.kill(os.getpid(), signal.SIGSEGV)),
    "ends the process": (Verdict.KILLED, lambda _: os._exit(0)),
    "crashes in a command": (Verdict.KILLED, with_python("import os; os.kill(os.getpid(), 11)")),
    "is slow": (Verdict.ANSWERED, lambda _: time.sleep(0.3)),
}
CAMPAIGN = Campaign(len(WAYS), attempts)
