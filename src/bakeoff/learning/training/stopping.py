"""How a run ends: all steps done, a stop that was asked for, no time left, validation that gets no better.

A stop is asked for by Ctrl-C, or by the file that `bakeoff stop` puts into the run's folder. Before the first step it
is answered at once, for there is nothing to save. After it, once: the step is finished, saved and evaluated. Ctrl-C
again stops at once. SIGTERM and SIGUSR2 take the machine away: the step is finished and saved, and not evaluated.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from bakeoff.foundation.errors import INTERRUPTED, TRY_AGAIN_LATER, Canceled
from bakeoff.foundation.signals import TAKES_AWAY, handling
from bakeoff.learning.checkpoints.run_state import End
from bakeoff.learning.plan.train_settings import EarlyStopping, Patience

POLL_SECONDS = 0.05
ASKED = "\n{}: training ends after this step and is saved, then evaluated; {} stops at once\n"
TAKEN_AWAY = "\n{}: training ends after this step and is saved; the same command resumes there\n"
CTRL_C = "Ctrl-C"
TAKES_AWAY_NAMES = tuple(number.name for number in TAKES_AWAY)


class Stop:
    """Whether somebody asked training to end."""

    def __init__(self, request: Path | None = None) -> None:
        """`request` is the file whose appearance asks; None: no file is looked for."""
        self.by: str | None = None  # who asked for the stop
        self._request = request
        self._has_stepped = False
        self._looked = float("-inf")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A request from before the block was to a process that is gone; one from within is answered by its end."""
        self._consume()
        try:
            with handling((signal.SIGINT, *TAKES_AWAY), self._on_signal):
                yield
        except Exception:
            if self.by is None or self._has_stepped:
                raise
            raise self._before_the_first_step() from None  # a library made this error of what the handler raised
        finally:
            self._consume()

    @property
    def asked(self) -> bool:
        now = time.monotonic()
        if self.by is None and self._request and now - self._looked >= POLL_SECONDS:
            self._looked = now
            if self._request.exists():
                self._accept("bakeoff stop")
        return self.by is not None

    def leave_if_asked(self) -> None:
        """Raise Canceled where nothing has been done yet that would have to be saved."""
        if self.asked and not self._has_stepped:
            raise self._before_the_first_step()

    def leave_if_taken_away(self, step: int) -> None:
        """Raise Canceled where training has ended after a step, which is saved, because the machine is taken away."""
        if self.by in TAKES_AWAY_NAMES:
            text = f"stopped by {self.by} after step {step:,}, which is saved; the same command resumes there"
            raise Canceled(text, TRY_AGAIN_LATER)

    def step_is_done(self) -> None:
        """From now on there is something to save, also for a request whose Canceled a library dropped."""
        if not self._has_stepped and self.by is not None:
            self._announce(self.by)
        self._has_stepped = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        is_ctrl_c = number == signal.SIGINT
        name = CTRL_C if is_ctrl_c else signal.Signals(number).name
        if not self._has_stepped:
            self.by = name
            raise self._before_the_first_step()
        if self.by is not None and is_ctrl_c:
            raise KeyboardInterrupt
        self._accept(name)

    def _before_the_first_step(self) -> Canceled:
        code = TRY_AGAIN_LATER if self.by in TAKES_AWAY_NAMES else INTERRUPTED
        return Canceled(f"stopped by {self.by} before the first step; run the same command again", code)

    def _accept(self, by: str) -> None:
        if self.by is None:
            self.by = by
            self._announce(by)

    def _announce(self, by: str) -> None:
        # Python's own streams may be in the middle of a line when a signal comes.
        text = TAKEN_AWAY if by in TAKES_AWAY_NAMES else ASKED
        os.write(2, text.format(by, f"{CTRL_C} again" if by == CTRL_C else CTRL_C).encode())

    def _consume(self) -> None:
        if self._request:
            self._request.unlink(missing_ok=True)


class Clock:
    """Seconds of training over all lives of a run, without those that the machine slept."""

    def __init__(self, earlier: float = 0.0) -> None:
        self._earlier = earlier
        self._started: float | None = None

    def start(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return self._earlier + (time.monotonic() - self._started if self._started is not None else 0.0)


@dataclass
class TimeLimit:
    """Says when to take no further step, so that what comes after the last one fits in as well."""

    minutes: float | None
    clock: Clock
    rehearse_validation: Callable[[], float] = lambda: 0.0  # about the seconds that one takes
    saving: Callable[[], float] = lambda: 0.0  # seconds that writing checkpoint and weights takes
    validation: float = 0.0  # seconds that the slowest took, or, before there was one, the rehearsal's guess
    _is_guess: bool = True
    _pace: float = 0.0
    _logged: tuple[int, float] = (0, 0.0)  # steps and seconds when the device was last known to have caught up

    def begin(self) -> None:
        self.clock.start()
        if self.minutes is not None:
            self.validation = self.rehearse_validation()

    def validated(self, seconds: float) -> None:
        self.validation, self._is_guess = seconds if self._is_guess else max(seconds, self.validation), False

    def logged(self, done: int, seconds_per_step: float) -> None:
        self._pace, self._logged = seconds_per_step, (done, self.clock.seconds)

    def is_up(self, done: int) -> bool:
        if self.minutes is None:
            return False
        # A device may have steps before it that Python has handed over already.
        step, then = self._logged
        spent = max(self.clock.seconds, then + (done - step) * self._pace) if self._pace else self.clock.seconds
        return spent + self._pace + self.validation + self.saving() > 60 * self.minutes


@dataclass(frozen=True)
class Ends:
    """What may end a run before its last step."""

    stop: Stop
    limit: TimeLimit
    early: EarlyStopping = field(default_factory=EarlyStopping)

    @classmethod
    def none(cls) -> "Ends":
        """Return what ends no run."""
        return cls(Stop(), TimeLimit(None, Clock()))

    def end_at(self, done: int, steps: range, patience: Patience, time_is_up: bool = False) -> End | None:
        """Return what ends a phase after so many steps; None if nothing does. `patience` stands for early stopping."""
        if time_is_up:
            return "max_minutes"
        if done == steps.stop:
            return "steps"
        return "early_stopping" if self.early.is_over(patience) else None
