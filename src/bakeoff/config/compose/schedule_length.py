"""A schedule and the steps of its phase -> the schedule of that run.

An option of a predecessor was made for a run of thousands of steps. Its warm-up is cut to a shorter run, as ftc-ml did.
What the user set himself is never cut. A run without an end gives no schedule the end that it lacks.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from bakeoff.foundation.errors import OutOfRange
from bakeoff.foundation.formatting import format_count
from bakeoff.learning.lr.schedule import ENDLESS, Schedule
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.run_file.parse import Problems

SetBy = Literal["user", "recipe"]
SetByWhom = Callable[[str], SetBy | None]  # of a full key; None: the value is a default
RISE = ("warmup_steps", "burn_in_steps", "hold_steps")  # what comes before a decay


class ScheduleLength:
    """Fills in the schedules of a run, and notes what it cuts for its length."""

    def __init__(self, train: Train, problems: Problems, set_by: SetByWhom) -> None:
        self._problems, self._set_by = problems, set_by
        self._length = next((key for key in ("steps", "epochs") if getattr(train, key) is not None), "phases")
        self._cut: list[str] = []

    def cut_checkpoints(self, train: Train, steps: int) -> Train:
        """Return the settings with a checkpoint at the end of the run at the latest, where an option of ours set it."""
        every, kept = train.checkpoint_every_steps, train.keep_every_steps
        if every <= steps or self._set_by("train.checkpoint_every_steps") != "recipe":
            return train
        cut = {"checkpoint_every_steps": steps}
        if kept and self._set_by("train.keep_every_steps") == "recipe":
            cut["keep_every_steps"] = steps
        try:
            shorter = replace(train, **cut)  # type: ignore[arg-type]
        except OutOfRange as error:
            self._problems.add_refusal("train.", error)
            return train
        self._note("train.", train, cut)
        return shorter

    def fill_in(self, schedule: Schedule, steps: int, steps_per_epoch: float, prefix: str) -> Schedule:
        """Return the schedule of a phase of so many steps; `prefix` is where it stands."""
        if steps >= ENDLESS:
            return self._fill_in_without_end(schedule, steps_per_epoch, prefix)
        cut = self._find_cuts(schedule, steps, prefix)
        changed: Any = schedule
        try:
            bare = replace(changed, **dict.fromkeys(cut, 0))
            filled = replace(bare.over(steps, steps_per_epoch=steps_per_epoch), **cut)
        except OutOfRange as error:
            self._problems.add_refusal(prefix, error)
            return schedule
        self._note(prefix, schedule, cut)
        return filled

    def report(self, steps: int) -> None:
        """Write the one remark on all that was cut."""
        if self._cut:
            rule = f"the run has {format_count(steps, 'step')}, fewer than its options were made for; cut to it: "
            self._problems.warn(f"train.{self._length}", rule + ", ".join(dict.fromkeys(self._cut)))

    def _find_cuts(self, schedule: Schedule, steps: int, prefix: str) -> dict[str, int]:
        """Return the parts before the decay that are as long as the run or longer, and what the run leaves of each."""
        lengths = {key: length for key in RISE if (length := getattr(schedule, key, None))}
        ours = {key: length for key, length in lengths.items() if self._set_by(f"{prefix}{key}") == "recipe"}
        left, cut = steps - sum(lengths.values()) + sum(ours.values()), dict[str, int]()
        for key, length in ours.items():
            if length >= left:
                cut[key] = max(0, left)
            left -= length
        return cut

    def _note(self, prefix: str, settings: Any, cut: dict[str, int]) -> None:
        for key, value in cut.items():
            if (before := getattr(settings, key)) != value:
                self._cut.append(f"{prefix}{key} from {before:,} to {value:,}")

    def _fill_in_without_end(self, schedule: Schedule, steps_per_epoch: float, prefix: str) -> Schedule:
        choice = "or choose constant, exponential or manual" if prefix == "lr." else "or another kind"
        lacking = [key for key in ("total_steps", "warmup_steps") if getattr(schedule, key, 0) is None]
        for key in lacking:
            rule = "must be a number while train.steps is unlimited, got null, which follows the run's length"
            self._problems.add(f"{prefix}{key}", f"{rule}; set it" + (f", {choice}" if key == "total_steps" else ""))
        if lacking:
            return schedule
        total = getattr(schedule, "total_steps", None)
        try:
            filled = schedule.over(total or ENDLESS, steps_per_epoch=steps_per_epoch)
        except OutOfRange as error:
            self._problems.add_refusal(prefix, error)
            return schedule
        if total is not None:
            rate = f"the rate stays {filled(total):g} from step {total:,} on, for train.steps is unlimited"
            self._problems.warn(f"{prefix}total_steps", f"{rate}; train.steps: {total} ends there")
        return filled
