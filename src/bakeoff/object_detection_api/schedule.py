"""A schedule -> `learning_rate { … }`. What that API cannot say is sampled in steps, with a comment that says so.

Its four schedules mean, at a step s (`floor` only with staircase; before the end of a burn-in the burn-in's rate):
exponential  max(initial * factor ^ floor((s - burn-in) / decay_steps), min)
cosine       a line from warmup_learning_rate, the base rate while it holds, half a cosine, 0 from total_steps on
manual_step  the rate of the last step reached; with `warmup` a line from the initial rate to the first of them
constant     one rate
"""

from bisect import bisect_right

from bakeoff.lr import Constant, Cosine, Exponential, Manual, Polynomial, Schedule
from bakeoff.object_detection_api.text_writer import Lines, block, comment, field, inline

SAMPLES = 100  # at most, of a schedule that has to be sampled
LOOKS = 20_000  # steps at which the samples are compared with the schedule
DIGITS = 9  # significant ones, all that a float32 holds


def written(schedule: Schedule, steps: int, factor: float) -> Lines:
    """The block for a run of `steps` steps whose rates are multiplied by `factor` (1: `lr.scale_with_batch` is off)."""
    inner = _exactly(schedule, steps, factor)
    scaled = comment(f"Rates are those of the variant times {factor:g} (lr.scale_with_batch).") if factor != 1 else []
    return block("learning_rate", scaled, _sampled(schedule, steps, factor) if inner is None else inner)


def _exactly(schedule: Schedule, steps: int, factor: float) -> Lines | None:
    """None: that API cannot say it."""
    if isinstance(schedule, Constant):
        return _constant(schedule, factor)
    if isinstance(schedule, Cosine):
        return _cosine(schedule, steps, factor)
    if isinstance(schedule, Manual):
        return _manual(schedule, factor)
    if isinstance(schedule, Exponential):
        return _exponential(schedule, steps, factor)
    return None


def _constant(schedule: Constant, factor: float) -> Lines:
    if schedule.warmup_steps == 0:
        return block("constant_learning_rate", field("learning_rate", _times(schedule.peak, factor)))
    rise = [(schedule.warmup_steps, _times(schedule.peak, factor))]
    return _stairs(_start(schedule, factor), rise, warmup=True)


def _cosine(schedule: Cosine, steps: int, factor: float) -> Lines:
    return block(
        "cosine_decay_learning_rate",
        field("learning_rate_base", _times(schedule.peak, factor)),
        field("total_steps", schedule.total_steps or steps),
        field("warmup_steps", schedule.warmup_steps),
        field("warmup_learning_rate", _start(schedule, factor) if schedule.warmup_steps else 0.0),
        field("hold_base_rate_steps", schedule.hold_steps),
    )


def _manual(schedule: Manual, factor: float) -> Lines:
    first, *later = (_times(rate, factor) for rate in schedule.rates)
    if not later:
        return block("constant_learning_rate", field("learning_rate", first))
    return _stairs(first, list(zip(schedule.boundaries, later, strict=True)), warmup=schedule.warmup)


def _exponential(schedule: Exponential, steps: int, factor: float) -> Lines | None:
    assert schedule.decay_steps is not None, "over(...) comes first"
    if schedule.warmup_steps:
        return _warmed_stairs(schedule, steps, factor)
    burn_in = []
    if schedule.burn_in_steps:
        rate = schedule.peak if schedule.burn_in_rate is None else schedule.burn_in_rate
        burn_in = [
            *field("burnin_learning_rate", _times(rate, factor)),
            *field("burnin_steps", schedule.burn_in_steps),
        ]
    return block(
        "exponential_decay_learning_rate",
        field("initial_learning_rate", _times(schedule.peak, factor)),
        field("decay_steps", schedule.decay_steps),
        field("decay_factor", schedule.decay_factor),
        field("staircase", schedule.staircase),
        burn_in,
        field("min_learning_rate", _times(schedule.floor, factor)),
    )


def _warmed_stairs(schedule: Exponential, steps: int, factor: float) -> Lines | None:
    """That API's exponential schedule has no warm-up; stairs, if they are not too many, are manual steps after one."""
    assert schedule.decay_steps is not None
    places = range(schedule.warmup_steps, steps, schedule.decay_steps)
    if not schedule.staircase or len(places) > SAMPLES:
        return None
    stairs = [(step, _rounded(schedule(step) * factor)) for step in places]
    return [
        *comment("An exponential schedule has no warm-up in that API. These are its stairs, each one exactly."),
        *_stairs(_start(schedule, factor), stairs, warmup=True),
    ]


def _sampled(schedule: Schedule, steps: int, factor: float) -> Lines:
    """Stairs of equal length, each at the rate of its middle; a warm-up stays the line that it is."""
    rise = schedule.warmup_steps if isinstance(schedule, Exponential | Polynomial) else 0
    number = min(SAMPLES, steps - rise)
    if number == 1 and not rise:
        return block("constant_learning_rate", field("learning_rate", _rounded(schedule(0) * factor)))
    starts = [rise + (steps - rise) * stair // number for stair in range(number)]
    ends = [*starts[1:], steps]
    rates = [schedule((start + end - 1) // 2) for start, end in zip(starts, ends, strict=True)]
    if rise:
        rates[0] = schedule(rise)  # where the line ends
    looked_at = {*range(rise, steps, max(1, steps // LOOKS)), *starts, *(end - 1 for end in ends)}
    off = max(abs(schedule(step) - rates[bisect_right(starts, step) - 1]) for step in looked_at)
    highest = max(schedule(step) for step in looked_at)
    stairs = [(start, _rounded(rate * factor)) for start, rate in zip(starts, rates, strict=True)]
    return [
        *comment(
            f"Not the variant's own schedule, for that API has no such one ({type(schedule).__name__}). The nearest "
            f"that it can say is {number} stairs, off by at most {100 * off / highest:.1f} % of the highest rate."
        ),
        *(
            _stairs(_rounded(schedule(0) * factor), stairs, warmup=True)
            if rise
            else _stairs(stairs[0][1], stairs[1:], warmup=False)
        ),
    ]


def _stairs(first: float, later: list[tuple[int, float]], *, warmup: bool) -> Lines:
    return block(
        "manual_step_learning_rate",
        field("initial_learning_rate", first),
        *[inline("schedule", field("step", step), field("learning_rate", rate)) for step, rate in later],
        field("warmup", warmup),
    )


def _start(schedule: Constant | Cosine | Exponential | Polynomial, factor: float) -> float:
    """Of the warm-up."""
    start = schedule.warmup_from
    return _rounded(schedule(0) * factor) if start is None else _times(start, factor)


def _times(rate: float, factor: float) -> float:
    """A rate as the variant says it, or the product."""
    return rate if factor == 1 else _rounded(rate * factor)


def _rounded(rate: float) -> float:
    """In as many digits as that API keeps."""
    return float(f"{rate:.{DIGITS}g}")
