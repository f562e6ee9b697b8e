"""The learning rate over the steps of a run, as `models/config/lr.svg`."""

from collections.abc import Sequence

from bakeoff.curve import Mark, curve_svg
from bakeoff.training.variant import TrainingPhase

FAR_APART = 20  # phases whose rates are more than so many times apart can't be seen on one even scale
POINTS = 400  # of a leg, besides the steps where its course changes


def lr_svg(name: str, legs: Sequence[TrainingPhase]) -> str:
    """Return the picture of the phases that a run of this name plans."""
    points = [(step, leg.rate(step)) for leg in legs for step in _shown_steps(leg)]
    marks = [mark for leg in legs for mark in _marks(leg, named=len(legs) > 1)]
    steps = legs[-1].span.end_step
    peaks = [max(leg.rate(step) for step in _shown_steps(leg)) for leg in legs]
    apart = max(peaks) > FAR_APART * min(peaks)
    title = f"Learning rate: {name} (at most {max(peaks):.3g})"
    return curve_svg(title, points, marks, steps=steps, decades=apart)


def _shown_steps(leg: TrainingPhase) -> list[int]:
    first, steps = leg.span.first_step, leg.span.steps
    even = {round(number * (steps - 1) / POINTS) for number in range(POINTS + 1)}
    sharp = {step + side for step, _ in leg.schedule.turns() for side in (-1, 0)}
    return [first + step for step in sorted(even | {step for step in sharp if 0 <= step < steps})]


def _marks(leg: TrainingPhase, *, named: bool) -> list[Mark]:
    span = leg.span
    turns = [Mark(span.first_step + step, what) for step, what in leg.schedule.turns() if 0 < step < span.steps]
    return [Mark(span.first_step, span.name), *turns] if named else turns
