"""How a run ends: all steps done, a stop that was asked for, no time left, validation that gets no better."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.training.early_stopping import EarlyStopping
from bakeoff.training.stopping import Stop

End = Literal["steps", "stop", "max_minutes", "early_stopping"]


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
    rehearse_look: Callable[[], float] = lambda: 0.0  # about the seconds that a look at validation takes
    saving: Callable[[], float] = lambda: 0.0  # seconds that writing checkpoint and weights takes
    look: float = 0.0  # seconds that the slowest look took, or, before there was one, the rehearsal's guess
    _is_guess: bool = True
    _pace: float = 0.0
    _logged: tuple[int, float] = (0, 0.0)  # steps and seconds when the device was last known to have caught up

    def begin(self) -> None:
        self.clock.start()
        if self.minutes is not None:
            self.look = self.rehearse_look()

    def looked(self, seconds: float) -> None:
        self.look, self._is_guess = seconds if self._is_guess else max(seconds, self.look), False

    def logged(self, done: int, seconds_per_step: float) -> None:
        self._pace, self._logged = seconds_per_step, (done, self.clock.seconds)

    def is_up(self, done: int) -> bool:
        if self.minutes is None:
            return False
        # A device may have steps before it that Python has handed over already.
        step, then = self._logged
        spent = max(self.clock.seconds, then + (done - step) * self._pace) if self._pace else self.clock.seconds
        return spent + self._pace + self.look + self.saving() > 60 * self.minutes


@dataclass(frozen=True)
class Ends:
    """What may end a run before its last step."""

    stop: Stop
    limit: TimeLimit
    early: EarlyStopping = field(default_factory=EarlyStopping)

    @classmethod
    def none(cls) -> "Ends":
        """Nothing does."""
        return cls(Stop(), TimeLimit(None, Clock()))
