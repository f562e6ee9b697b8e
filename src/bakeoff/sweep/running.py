"""One job that runs, as its launcher sees it: a child of ours, or what an earlier launcher left running."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from bakeoff.sweep import session
from bakeoff.sweep.following import Following
from bakeoff.sweep.job import ALREADY_RUNS, JobFiles
from bakeoff.tracking.journal import is_held

SECONDS_BETWEEN_REMINDERS = 2.0


@dataclass
class Running:
    files: JobFiles
    following: Following
    child: subprocess.Popen[bytes] | None  # None: an earlier launcher's
    given_up: str | None = None  # why
    _asked: float = 0.0  # when it was asked to end
    _reminded: float = 0.0

    @property
    def session(self) -> int | None:
        return session.noted(self.files.process) if self.child is None else self.child.pid

    def is_over(self) -> bool:
        if self.child is not None and self.child.poll() == ALREADY_RUNS:
            self.child = None  # that one holds the lock
        return not is_held(self.files.lock) if self.child is None else self.child.poll() is not None

    def give_up(self, why: str) -> None:
        """Asked as Ctrl-C asks, so that what was learned is kept."""
        self.given_up = why
        self._asked = self._reminded = time.monotonic()
        self.ask(session.INTERRUPT)

    def insist(self, has_trained: Callable[[], bool]) -> None:
        """Ended if it was asked and does not listen.

        DVC does not while a stage runs, and goes on to the next: once training is saved, that is asked, too.
        """
        now = time.monotonic()
        if now - self._asked > session.SECONDS_TO_END:
            self.ask(session.KILL)
        elif now - self._reminded > SECONDS_BETWEEN_REMINDERS:
            self._reminded = now
            if has_trained():
                self.ask(session.INTERRUPT)

    def ask(self, number: int) -> None:
        if (found := self.session) is not None:
            session.ask(found, number)

    def end(self) -> None:
        """It has been asked. Waits, and insists in the end."""
        if (found := self.session) is not None:
            session.end(found, asked=True)

    def clear(self) -> None:
        """What is left of it after it was killed."""
        if (found := self.session) is not None:
            session.end(found)
