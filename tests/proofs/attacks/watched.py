"""A campaign's attempts in a process that is watched: it may not compute or wait for long, or take a lot of memory.

The process imports and prepares once. If an attempt ends it, another one goes on behind that attempt.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import psutil

from proofs.attacks.campaign import Campaign, End, Verdict, judge

TICK_S = 0.1
PREPARING_S = 600.0  # by the clock, until the first attempt begins
PEAK, RESET_PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Limits:
    """Of one attempt; the memory is what it takes beside what the process had before."""

    seconds: float = 10.0
    bytes: int = 10**9


@dataclass(frozen=True)
class Ended:
    number: int
    description: str
    end: End


def run_attempts(module: str, seed: int, numbers: Sequence[int], limits: Limits) -> Iterator[Ended]:
    """Yield how each of the attempts ended, in order."""
    campaign: Campaign = import_module(module).CAMPAIGN
    limits = Limits(limits.seconds + campaign.idle_seconds, limits.bytes + campaign.idle_bytes)
    left = list(numbers)
    while left:
        for ended in _run_in_one_process(module, seed, tuple(left), limits):
            left.remove(ended.number)
            yield ended


def random_of(seed: int, module: str, number: int) -> Random:
    return Random(f"{seed} {module} {number}")


def _run_in_one_process(module: str, seed: int, numbers: Sequence[int], limits: Limits) -> Iterator[Ended]:
    """Yield the ends of attempts until there are none left, or one ended the process."""
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-attack-"))
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_work, args=(module, seed, numbers, folder, limits, there))
    process.start()
    there.close()
    watch = _Watch(psutil.Process(process.pid), PREPARING_S, None)
    number, description = numbers[0], "to prepare"
    try:
        while True:
            fall = None
            with suppress(EOFError):
                fall = watch.wait(here)
                if fall is None:
                    number, description, end = here.recv()
                    if end is not None:
                        yield Ended(number, description, end)
                        if number == numbers[-1]:
                            return
                        description = "to prepare"
                    watch = _Watch(psutil.Process(process.pid), limits.seconds, limits.bytes)
                    continue
            if fall is None:
                _end(process.pid)
                process.join()
                fall = End(Verdict.KILLED, f"exit code {process.exitcode}: {_tail(folder / 'printed')}")
            if description == "to prepare":
                raise RuntimeError(f"{module} does not get ready: {fall.text}")
            yield Ended(number, description, fall)
            return
    finally:
        if process.exitcode is None:
            _end(process.pid)
            process.join()
        shutil.rmtree(folder, ignore_errors=True)


def _work(module: str, seed: int, numbers: Sequence[int], folder: Path, limits: Limits, parent: Connection) -> None:
    os.setsid()
    with (folder / "printed").open("wb") as file:  # what libraries print past Python
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(os.devnull)
    campaign: Campaign = import_module(module).CAMPAIGN
    own = folder / "own"
    own.mkdir()
    os.chdir(own)
    randoms = (random_of(seed, module, number) for number in numbers)
    for number, attempt in zip(numbers, campaign.attempts(randoms, own), strict=True):
        parent.send((number, attempt.description, None))
        before = _start_peak()
        end = judge(attempt.act)
        if not end.verdict.is_fall and (taken := _peak_bytes() - before) > limits.bytes:
            end = End(Verdict.MEMORY, f"{taken / 10**9:.1f} GB")
        parent.send((number, attempt.description, end))


def _start_peak() -> int:
    """Let the system's count of the most memory begin anew, and return what is taken now."""
    RESET_PEAK.write_text("5")
    return _peak_bytes()


def _peak_bytes() -> int:
    [line] = [line for line in PEAK.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


class _Watch:
    """Counts the seconds that a process and its children computed or slept, not those that others took from them."""

    def __init__(self, process: psutil.Process, seconds: float, most_bytes: int | None) -> None:
        self._process, self._seconds, self._most_bytes = process, seconds, most_bytes
        self._asleep, self._last = 0.0, 0.0
        self._before: tuple[float, int] | None = None

    def wait(self, connection: Connection) -> End | None:
        """Return None when something came, else why the process may not go on. An end of the process is an EOFError."""
        while not connection.poll(TICK_S):
            computed, taken, sleeps = self._measure()
            if self._before is None:
                self._before = computed, taken
            elif sleeps and computed - self._last < TICK_S / 10:
                self._asleep += TICK_S
            self._last = computed
            seconds = computed - self._before[0] + self._asleep
            if seconds > self._seconds:
                return End(Verdict.HANG, f"{seconds:.1f} s, {self._asleep:.1f} of them asleep")
            if self._most_bytes is not None and taken - self._before[1] > self._most_bytes:
                return End(Verdict.MEMORY, f"{(taken - self._before[1]) / 10**9:.1f} GB")
        return None

    def _measure(self) -> tuple[float, int, bool]:
        computed, taken, sleeps = 0.0, 0, True
        with suppress(psutil.NoSuchProcess):
            for process in (self._process, *self._process.children(recursive=True)):
                with suppress(psutil.NoSuchProcess), process.oneshot():
                    times = process.cpu_times()
                    computed += times.user + times.system + times.children_user + times.children_system
                    taken += process.memory_info().rss
                    sleeps = sleeps and process.status() not in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
        return computed, taken, sleeps


def _end(pid: int) -> None:
    """Kill a process that nobody has waited for yet, so that its number is still its own, and all that it started."""
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _tail(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")[-1500:]
    return ""
