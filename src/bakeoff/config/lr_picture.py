"""The learning rate over the steps of a run, as `models/config/lr.svg`."""

from bakeoff.config.run import Run
from bakeoff.curve import Mark, curve_svg
from bakeoff.training.phases import Leg

POINTS = 400  # of a leg, besides the steps where its course changes


def lr_svg(run: Run) -> str:
    legs = run.legs
    points = [(step, leg.rate(step)) for leg in legs for step in _shown_steps(leg)]
    marks = [mark for leg in legs for mark in _marks(leg, named=len(legs) > 1)]
    steps = legs[-1].span.end_step
    peak = max(rate for _, rate in points)
    return curve_svg(f"Learning rate: {run.name} (at most {peak:.3g})", points, marks, steps=steps)


def _shown_steps(leg: Leg) -> list[int]:
    first, steps = leg.span.first_step, leg.span.steps
    even = {round(number * (steps - 1) / POINTS) for number in range(POINTS + 1)}
    sharp = {step + side for step, _ in leg.schedule.turns() for side in (-1, 0)}
    return [first + step for step in sorted(even | {step for step in sharp if 0 <= step < steps})]


def _marks(leg: Leg, *, named: bool) -> list[Mark]:
    span = leg.span
    turns = [Mark(span.first_step + step, what) for step, what in leg.schedule.turns() if 0 < step < span.steps]
    return [Mark(span.first_step, span.name), *turns] if named else turns
