"""Whether somebody asked training to end: Ctrl-C, SIGTERM, or the file that `bakeoff stop` puts into the run's folder.

Before the first step a stop is answered at once, for there is nothing to save. After it, once: the step is finished,
saved and evaluated. Ctrl-C again stops at once.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import psutil

from bakeoff.errors import INTERRUPTED, TERMINATED, Canceled
from bakeoff.workspace import STOP_FILE

SECONDS_BETWEEN_LOOKS = 0.05
SAID = "\n{}: training ends after this step and is saved, then evaluated; {} stops at once\n"


CTRL_C = "Ctrl-C"
FRAGILE_SHELLS = ("sh", "dash", "ash", "busybox")


def takes_its_shell_along() -> bool:
    """Whether Ctrl-C ends the shell by which DVC runs this stage, as soon as the stage has ended.

    Then DVC sees a failure, whatever the stage says. bash and zsh become the command that they are given; not so dash.
    """
    return "DVC_STAGE" in os.environ and psutil.Process(os.getppid()).name() in FRAGILE_SHELLS


class Stop:
    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is the run's; None: no file is looked for."""
        self.by: str | None = None  # who asked
        self._request = folder and folder / STOP_FILE
        self._has_stepped = False
        self._looked = float("-inf")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A request from before the block was to a process that is gone; one from within is answered by its end."""
        self._consume()
        numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._consume()

    @property
    def asked(self) -> bool:
        now = time.monotonic()
        if self.by is None and self._request and now - self._looked >= SECONDS_BETWEEN_LOOKS:
            self._looked = now
            if self._request.exists():
                self._accept("bakeoff stop")
        return self.by is not None

    def leave_if_asked(self) -> None:
        """Where nothing has been done yet that would have to be saved."""
        if self.asked and not self._has_stepped:
            raise Canceled(f"stopped by {self.by} before the first step; run the same command again", INTERRUPTED)

    def step_is_done(self) -> None:
        """From now on there is something to save."""
        self._has_stepped = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        name, code = (CTRL_C, INTERRUPTED) if number == signal.SIGINT else ("SIGTERM", TERMINATED)
        if not self._has_stepped:
            raise Canceled(f"stopped by {name} before the first step; run the same command again", code)
        if self.by is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._accept(name)

    def _accept(self, by: str) -> None:
        if self.by is None:
            self.by = by
            # Python's own streams may be in the middle of a line when a signal comes.
            os.write(2, SAID.format(by, f"{CTRL_C} again" if by == CTRL_C else CTRL_C).encode())

    def _consume(self) -> None:
        if self._request:
            self._request.unlink(missing_ok=True)
