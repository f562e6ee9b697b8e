"""How long a training still takes: by the pace of the phase that it is in, and by what is known of those to come."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stretch:
    """Steps that take equally long: those of a phase."""

    end_step: int  # of the run
    seconds_per_step: float | None = None  # as such steps took here before


class TimeLeft:
    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._stretches = stretches
        self._first = (-1, 0, 0.0)  # number of the stretch; step and time of its first line, which holds compilation

    def after(self, step: int, now: float) -> float | None:
        """Return the seconds from a step on, the end of which was at `now`; None where a pace is not known yet."""
        number = sum(step > one.end_step for one in self._stretches)
        if self._first[0] != number:
            self._first = (number, step, now)
        _, first_step, since = self._first
        own, left = (now - since) / (step - first_step) if step > first_step else None, 0.0
        for one in self._stretches[number:]:
            pace, own = own or one.seconds_per_step, None
            if pace is None:
                return None
            left += pace * (one.end_step - step)
            step = one.end_step
        return left
