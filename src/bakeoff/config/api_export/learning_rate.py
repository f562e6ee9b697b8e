"""A schedule -> `learning_rate { … }`. What that API lacks is sampled in steps, with a comment that says so.

Its four schedules mean, at a step s (`floor` only with staircase; before the end of a burn-in the burn-in's rate):
exponential  max(initial * factor ^ floor((s - burn-in) / decay_steps), min)
cosine       a line from warmup_learning_rate, the base rate while it holds, half a cosine, 0 from total_steps on
manual_step  the rate of the last step reached; with `warmup` a line from the initial rate to the first of them
constant     one rate
"""

from bisect import bisect_right

from bakeoff.config.api_export.messages import Key, Noted, OneLine, Tree, fill, keys
from bakeoff.learning.lr.decays import Constant, Cosine, Exponential, Polynomial
from bakeoff.learning.lr.piecewise import Manual
from bakeoff.learning.lr.schedule import Schedule, warmup_of

SAMPLES = 100  # at most, of a schedule that has to be sampled
COMPARED = 20_000  # steps at which the samples are compared with the schedule
DIGITS = 9  # significant ones, all that a float32 holds
COSINE: Tree = {
    **keys("", learning_rate_base="peak", total_steps="total_steps", warmup_steps="warmup_steps"),
    "warmup_learning_rate": None,  # goes by the first step
    "hold_base_rate_steps": Key("hold_steps"),
}
EXPONENTIAL: Tree = {
    **keys("", initial_learning_rate="peak", decay_steps="decay_steps", decay_factor="decay_factor"),
    "staircase": Key("staircase"),
    "burnin_learning_rate": lambda schedule: schedule.burn_in_rate if schedule.burn_in_steps else None,
    "burnin_steps": lambda schedule: schedule.burn_in_steps or None,
    "min_learning_rate": Key("floor"),
}


def describe_schedule(schedule: Schedule, steps: int, factor: float) -> Tree:
    """Describe a run of `steps` steps whose rates are multiplied by `factor` (1: `lr.scale_with_batch` is off)."""
    note, tree = _describe_exactly(schedule, steps, factor) or _sample(schedule, steps, factor)
    if factor != 1:
        note = f"Rates are those of the variant times {factor:g} (lr.scale_with_batch).\n{note}"
    [(name, inner)] = tree.items()
    return {name: Noted(note, inner)}


def _describe_exactly(schedule: Schedule, steps: int, factor: float) -> tuple[str, Tree] | None:
    """Return a comment and the block. None means that the API has no such schedule."""
    if isinstance(schedule, Constant):
        return "", _describe_constant(schedule, factor)
    if isinstance(schedule, Cosine):
        return "", _describe_cosine(schedule, factor)
    if isinstance(schedule, Manual):
        return "", _describe_manual(schedule, factor)
    if isinstance(schedule, Exponential):
        if schedule.warmup_steps:
            return _describe_warmed_stairs(schedule, steps, factor)
        return "", {"exponential_decay_learning_rate": _fill(EXPONENTIAL, schedule, factor)}
    return None


def _describe_constant(schedule: Constant, factor: float) -> Tree:
    if schedule.warmup_steps == 0:
        return {"constant_learning_rate": {"learning_rate": _times(schedule.peak, factor)}}
    rise = [(warmup_of(schedule), _times(schedule.peak, factor))]
    return _describe_stairs(_start(schedule, factor), rise, warmup=True)


def _describe_cosine(schedule: Cosine, factor: float) -> Tree:
    start = _start(schedule, factor) if schedule.warmup_steps else 0.0
    return {"cosine_decay_learning_rate": _fill(COSINE, schedule, factor) | {"warmup_learning_rate": start}}


def _describe_manual(schedule: Manual, factor: float) -> Tree:
    first, *later = (_times(rate, factor) for rate in schedule.rates)
    if not later:
        return {"constant_learning_rate": {"learning_rate": first}}
    return _describe_stairs(first, list(zip(schedule.boundaries, later, strict=True)), warmup=schedule.warmup)


def _describe_warmed_stairs(schedule: Exponential, steps: int, factor: float) -> tuple[str, Tree] | None:
    """Return stairs after a warm-up as manual steps, if they are not too many. That API's exponential schedule has no
    warm-up.
    """
    assert schedule.decay_steps is not None
    places = range(warmup_of(schedule), steps, schedule.decay_steps)
    if not schedule.staircase or len(places) > SAMPLES:
        return None
    stairs = [(step, _round(schedule(step) * factor)) for step in places]
    note = "An exponential schedule has no warm-up in that API. These are its stairs, each one exactly."
    return note, _describe_stairs(_start(schedule, factor), stairs, warmup=True)


def _sample(schedule: Schedule, steps: int, factor: float) -> tuple[str, Tree]:
    """Describe stairs of equal length, each at the rate of its middle; a warm-up stays the line that it is."""
    rise = warmup_of(schedule) if isinstance(schedule, Exponential | Polynomial) else 0
    number = min(SAMPLES, steps - rise)
    if number == 1 and not rise:
        return "", {"constant_learning_rate": {"learning_rate": _round(schedule(0) * factor)}}
    starts = [rise + (steps - rise) * stair // number for stair in range(number)]
    ends = [*starts[1:], steps]
    rates = [schedule((start + end - 1) // 2) for start, end in zip(starts, ends, strict=True)]
    if rise:
        rates[0] = schedule(rise)  # where the line ends
    compared = {*range(rise, steps, max(1, steps // COMPARED)), *starts, *(end - 1 for end in ends)}
    off = max(abs(schedule(step) - rates[bisect_right(starts, step) - 1]) for step in compared)
    highest = max(schedule(step) for step in compared)
    note = (
        f"Not the variant's own schedule, for that API has no such one ({type(schedule).__name__}). The nearest "
        f"that it can say is {number} stairs, off by at most {100 * off / highest:.1f} % of the highest rate."
    )
    stairs = [(start, _round(rate * factor)) for start, rate in zip(starts, rates, strict=True)]
    if rise:
        return note, _describe_stairs(_round(schedule(0) * factor), stairs, warmup=True)
    return note, _describe_stairs(stairs[0][1], stairs[1:], warmup=False)


def _describe_stairs(first: float, later: list[tuple[int, float]], *, warmup: bool) -> Tree:
    schedule = [OneLine(step=step, learning_rate=rate) for step, rate in later]
    return {"manual_step_learning_rate": {"initial_learning_rate": first, "schedule": schedule, "warmup": warmup}}


def _fill(table: Tree, schedule: Schedule, factor: float) -> Tree:
    """Fill a table with the numbers of a schedule; its rates are multiplied."""
    numbers = fill(table, schedule)
    rates = {
        name: _times(rate, factor) for name, rate in numbers.items() if "learning_rate" in name and rate is not None
    }
    return numbers | rates


def _start(schedule: Constant | Cosine | Exponential | Polynomial, factor: float) -> float:
    start = schedule.warmup_from
    return _round(schedule(0) * factor) if start is None else _times(start, factor)


def _times(rate: float, factor: float) -> float:
    """Return a rate as the variant has it, or the product."""
    return rate if factor == 1 else _round(rate * factor)


def _round(rate: float) -> float:
    """Keep as many digits as that API does."""
    return float(f"{rate:.{DIGITS}g}")
