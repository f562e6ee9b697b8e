"""What a schedule is, and the rules that several of them share."""

from dataclasses import replace
from typing import Any, Protocol, Self, TypeVar

from bakeoff.foundation.errors import OutOfRange, require, require_at_most

MOST_RATE = 1000
MOST_STEPS = 100_000_000  # of a run
ENDLESS = 10 * MOST_STEPS  # the steps of a run that only a stop, its time or its patience ends
STEPS = ("warmup_steps", "hold_steps", "decay_steps", "burn_in_steps", "total_steps")
LIMITS = {  # of the fields that schedules have
    **dict.fromkeys(STEPS, MOST_STEPS), **dict.fromkeys(("peak", "burn_in_rate"), MOST_RATE), "power": 100,
    "decay_epochs": 10**6, "scale_with_batch": 10**6, "start_divisor": 10**9, "end_divisor": 10**9,
}  # fmt: skip
Turn = tuple[int, str]  # a step where the schedule changes its course, and what begins there
USUAL_WARMUP = 40  # 50 steps of 2,000
Ending = TypeVar("Ending", bound="EndingSchedule")
Warmed = TypeVar("Warmed", bound="WarmedSchedule")


class Schedule(Protocol):
    @property
    def scale_with_batch(self) -> int | None:
        """The batch that the rates are meant for; None: for any."""

    def __call__(self, step: int) -> float: ...

    def over(self, steps: int, *, steps_per_epoch: float) -> Self:
        """Return it filled in for a run of so many steps; refuse what makes no sense in one."""

    def turns(self) -> list[Turn]:
        """Return where its course changes, for whoever draws it; `over` comes first."""


class WarmedSchedule(Schedule, Protocol):
    @property
    def peak(self) -> float: ...

    @property
    def warmup_steps(self) -> int | None: ...

    @property
    def warmup_from(self) -> float | None: ...


class EndingSchedule(Schedule, Protocol):
    @property
    def total_steps(self) -> int | None: ...


def warmup_of(schedule: WarmedSchedule) -> int:
    assert schedule.warmup_steps is not None, "over(...) comes first"
    return schedule.warmup_steps


def fill_warmup(schedule: Warmed, steps: int) -> Warmed:
    """Warm up for a share of the run unless told otherwise; told otherwise, it must leave something of the run."""
    if schedule.warmup_steps is None:
        filled: Any = schedule
        return replace(filled, warmup_steps=steps // USUAL_WARMUP)
    require_shorter("warmup_steps", schedule.warmup_steps, steps)
    return schedule


def rise(schedule: WarmedSchedule, step: int) -> float:
    """Return the peak from `warmup_steps` on, and a line up to it before.

    Without `warmup_from` the line would have been at 0 one step before the first.
    """
    peak, warmup = schedule.peak, warmup_of(schedule)
    if step >= warmup:
        return peak
    start = peak / (warmup + 1) if schedule.warmup_from is None else schedule.warmup_from
    return start + (peak - start) * step / warmup


def share_done(step: int, start: int, total_steps: int) -> float:
    """Return the share of a decay that is over; a run that ends with its warm-up has none."""
    return 1.0 if step >= total_steps else (step - start) / (total_steps - start)


def fill_length(schedule: Ending, steps: int) -> Ending:
    """End with the run unless told otherwise; one that ends earlier would leave steps at its last rate."""
    total = schedule.total_steps
    if total is None:
        filled: Any = schedule
        return replace(filled, total_steps=steps)
    if total < steps:
        why = f"the rate would stay {schedule(total):g} from step {total} on"
        raise OutOfRange("total_steps", total, f"at least the run's {steps} steps, or null", why)
    return schedule


def turns_at(step: int, what: str) -> list[Turn]:
    """Return the one turn, or none at step 0, where the run begins."""
    return [(step, what)] if step else []


def require_warmup(schedule: WarmedSchedule) -> None:
    require_batch(schedule)
    require(schedule.peak > 0, "peak", schedule.peak, "above 0")
    given = schedule.warmup_steps
    require(given is None or given >= 0, "warmup_steps", given, f"0 or more, or null for 1/{USUAL_WARMUP} of the run")
    start = schedule.warmup_from
    fits = start is None or 0 <= start <= schedule.peak
    require(fits, "warmup_from", start, f"between 0 and peak={schedule.peak:g}, or null")


def require_batch(schedule: Schedule) -> None:
    meant = schedule.scale_with_batch
    require(meant is None or meant >= 1, "scale_with_batch", meant, "1 or more, or null")
    require_at_most(schedule, **{key: most for key, most in LIMITS.items() if hasattr(schedule, key)})


def require_total(total_steps: int | None, least: int) -> None:
    require(total_steps is None or total_steps >= least, "total_steps", total_steps, f"{least} or more, or null")


def require_shorter(key: str, value: int, steps: int) -> None:
    """Check a part that must leave something of the run."""
    require(value == 0 or value < steps, key, value, f"under the run's {steps} steps")
