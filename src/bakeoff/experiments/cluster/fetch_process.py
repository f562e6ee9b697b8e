"""The launcher's end of fetch_results.py: one process that fetches the results of far jobs, one after the other."""

import itertools
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace

from bakeoff.experiments.cluster.fetch_results import FAILED, FetchOrder

COMMAND = (sys.executable, "-m", "bakeoff.experiments.cluster.fetch_results")
SECONDS_TO_TRY, SECONDS_BETWEEN_TRIES = 600.0, 5.0  # a network may come back
SECONDS_TO_END = 10.0  # the current order may take longer, and finishes by itself


@dataclass
class Fetch:
    """A result to fetch."""

    order: FetchOrder
    until: float  # after this time it is not tried again
    not_before: float = 0.0
    number: int | None = None  # of the order, once it is sent


class FetchProcess:
    """The process that fetches results, and the orders that it has got."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._receiver = threading.Thread()
        self._given: dict[int, subprocess.Popen[str]] = {}
        self._answers: dict[int, int] = {}
        self._numbers = itertools.count(1)

    def request(self, order: FetchOrder) -> Fetch:
        return Fetch(order, time.monotonic() + SECONDS_TO_TRY)

    def exit_code(self, fetch: Fetch) -> int | None:
        """Return the exit code, or None before there is one. What fails is tried again for some minutes."""
        now = time.monotonic()
        if fetch.number is None:
            if now >= fetch.not_before:
                fetch.number = self._send(fetch.order)
            return None
        process = self._given[fetch.number]
        is_alive = process.poll() is None
        if fetch.number not in self._answers and is_alive:
            return None
        code = self._answers.pop(fetch.number, FAILED)
        del self._given[fetch.number]
        if code != FAILED or now > fetch.until:
            return code
        fetch.number, fetch.not_before = None, now + SECONDS_BETWEEN_TRIES
        return None

    def close(self) -> None:
        """Let the process end after its current order."""
        if self._process is not None:
            self._end_input(self._process)
            self._receiver.join(SECONDS_TO_END)

    def _send(self, order: FetchOrder) -> int:
        number = next(self._numbers)
        if self._process is None or self._process.poll() is not None:
            if self._process is not None:
                self._end_input(self._process)
            # A session of its own: Ctrl-C is for the launcher.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            self._receiver = threading.Thread(target=self._receive, args=(self._process,), daemon=True)
            self._receiver.start()
        self._given[number] = self._process
        assert self._process.stdin is not None
        with suppress(OSError):  # it has just ended, which exit_code notices
            self._process.stdin.write(replace(order, number=number).as_line())
            self._process.stdin.flush()
        return number

    def _receive(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            number, code = line.split()
            self._answers[int(number)] = int(code)
        process.stdout.close()
        process.wait()

    @staticmethod
    def _end_input(process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        with suppress(OSError):  # it has ended, with something unread
            process.stdin.close()
