"""The launcher's end of bring_home.py: one process that brings the results of far jobs home, one after the other."""

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.experiments.cluster.fetch_results import FAILED

COMMAND = (sys.executable, "-m", "bakeoff.experiments.cluster.fetch_results")
SECONDS_TO_TRY, SECONDS_BETWEEN_TRIES = 600.0, 5.0  # a network may come back
SECONDS_TO_END = 10.0  # the current order may take longer, and ends without us


@dataclass
class Errand:
    """A result to bring home."""

    order: Mapping[str, Any]
    until: float  # after this time it is not tried again
    not_before: float = 0.0
    number: int | None = None  # of the order, once it is sent


class Bringing:
    """The process that brings results home, and the orders that it has got."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._receiver = threading.Thread()
        self._given: dict[int, subprocess.Popen[str]] = {}
        self._answers: dict[int, int] = {}
        self._numbers = itertools.count(1)

    def send_for(self, order: Mapping[str, Any], log: Path) -> Errand:
        return Errand({**order, "log": str(log)}, time.monotonic() + SECONDS_TO_TRY)

    def code_of(self, errand: Errand) -> int | None:
        """Return an errand's exit code, or None before it has one. One that fails is tried again for some minutes."""
        now = time.monotonic()
        if errand.number is None:
            if now >= errand.not_before:
                errand.number = self._send(errand.order)
            return None
        process = self._given[errand.number]
        is_alive = process.poll() is None
        if errand.number not in self._answers and is_alive:
            return None
        code = self._answers.pop(errand.number, FAILED)
        del self._given[errand.number]
        if code != FAILED or now > errand.until:
            return code
        errand.number, errand.not_before = None, now + SECONDS_BETWEEN_TRIES
        return None

    def close(self) -> None:
        """Let the process end after its current order."""
        if self._process is not None:
            self._end_input(self._process)
            self._receiver.join(SECONDS_TO_END)

    def _send(self, order: Mapping[str, Any]) -> int:
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
        with suppress(OSError):  # it has just ended, which code_of notices
            self._process.stdin.write(json.dumps({**order, "number": number}) + "\n")
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
