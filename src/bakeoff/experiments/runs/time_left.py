"""How long a training still takes: by the last steps of its phase, and by the known pace of later phases.

A line of the history is of steps or of a validation pass; the time of both counts.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

LAST_LINES = 50


@dataclass(frozen=True)
class Stretch:
    """Steps that take equally long: those of a phase."""

    end_step: int  # of the run
    seconds_per_step: float | None = None  # as such steps took here before


class TimeLeft:
    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._stretches = stretches
        self._number = -1  # of the stretch
        # Steps and times of its last lines; of the first the time before it is left out, which holds compilation.
        self._lines: deque[tuple[int, float]] = deque(maxlen=LAST_LINES + 1)

    def after(self, step: int, now: float) -> float | None:
        """Return the seconds from a step on, the end of which was at `now`; None where a pace is not known yet."""
        number = sum(step > one.end_step for one in self._stretches)
        if self._number != number:
            self._number = number
            self._lines.clear()
        self._lines.append((step, now))
        first_step, since = self._lines[0]
        own, left = (now - since) / (step - first_step) if step > first_step else None, 0.0
        for one in self._stretches[number:]:
            pace, own = own or one.seconds_per_step, None
            if pace is None:
                return None
            left += pace * (one.end_step - step)
            step = one.end_step
        return left
