"""The learning rate over the steps of a run, as `models/config/lr.svg`; its bytes depend on nothing but the run."""

import math
from collections.abc import Sequence

from bakeoff.foundation.html import svg
from bakeoff.learning.lr.schedule import Turn
from bakeoff.learning.plan.phases import TrainingPhase

FAR_APART = 20  # phases whose rates are more than so many times apart can't be seen on one even scale
POINTS = 400  # of a phase, besides the steps where its course changes
FRAME = svg.Frame(760, 320, left=78, right=24, top=56, bottom=46)
TICKS = 5
LETTER = 6.5  # pixels of a letter of a mark, about
MOST_DECADES = 8  # what is smaller lies at the bottom
STYLE = (
    "text{font:12px sans-serif;fill:#222}.title{font-weight:bold}.grid{stroke:#ddd}"
    ".line{fill:none;stroke:#1f6fb2;stroke-width:2}.mark{stroke:#b2551f;stroke-dasharray:3 3}.word{fill:#b2551f}"
)


def lr_svg(name: str, phases: Sequence[TrainingPhase]) -> str:
    points = [(step, phase.rate(step)) for phase in phases for step in _shown_steps(phase)]
    marks = [mark for phase in phases for mark in _marks(phase, named=len(phases) > 1)]
    peaks = [max(phase.rate(step) for step in _shown_steps(phase)) for phase in phases]
    title = f"Learning rate: {name} (at most {max(peaks):.3g})"
    is_far_apart = max(peaks) > FAR_APART * min(peaks)
    end = phases[-1].span.first_step + phases[-1].shown_steps
    return draw_curve(title, points, marks, steps=end, decades=is_far_apart)


def draw_curve(
    title: str, points: Sequence[tuple[int, float]], marks: Sequence[Turn], *, steps: int, decades: bool = False
) -> str:
    """Points are (step, value) in order; marks are lines up with a word above.

    With `decades` every tenth of a value is as far down as the one before, and 0 is at the bottom.
    """
    values = [value for _, value in points]
    scale = _decades(values) if decades else svg.Scale(0.0, _round_up(max(values, default=0.0)))
    across = svg.Scale(0.0, max(1.0, steps))
    places = [FRAME.x(across.share(step)) for step, _ in marks]
    words = svg.fit_labels(
        [(x, text) for x, (_, text) in zip(places, marks, strict=True)], width=FRAME.width, letter=LETTER
    )
    ticks = [round(steps * number / TICKS) for number in range(TICKS + 1)]
    line = [(FRAME.x(across.share(step)), FRAME.y(scale.share(value))) for step, value in points]
    drawing = svg.draw_svg(
        FRAME,
        svg.draw("style", STYLE),
        svg.draw("rect", width=FRAME.width, height=FRAME.height, fill="white"),
        svg.draw_text(FRAME.left, 18, title, class_="title"),
        *svg.draw_across(FRAME, [(scale.share(value), f"{value:.3g}") for value in scale.round_numbers()]),
        *svg.draw_below(FRAME, [(across.share(step), f"{step:,}") for step in ticks], "step"),
        *(svg.draw_line(x, FRAME.top - 4, x, FRAME.y(0), class_="mark") for x in places),
        *(
            svg.draw_text(start, FRAME.top - 20 + 13 * row, marks[number][1], class_="word")
            for number, start, row in words
        ),
        svg.draw_polyline(line, class_="line"),
        xmlns="http://www.w3.org/2000/svg",
        width=FRAME.width,
        height=FRAME.height,
    )
    return f"{drawing}\n"


def _decades(values: Sequence[float]) -> svg.Scale:
    logarithms = [math.log10(value) for value in values if value > 0] or [0.0]
    high = math.ceil(max(logarithms) - 1e-9)
    low = max(high - MOST_DECADES, min(high - 1, math.floor(min(logarithms) + 1e-9)))
    return svg.Scale(10.0**low, 10.0**high, is_logarithmic=True)


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten: ticks below it are round."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * (1 - 1e-9))


def _shown_steps(phase: TrainingPhase) -> list[int]:
    first, steps = phase.span.first_step, phase.shown_steps
    even = {round(number * (steps - 1) / POINTS) for number in range(POINTS + 1)}
    sharp = {step + side for step, _ in phase.schedule.turns() for side in (-1, 0)}
    return [first + step for step in sorted(even | {step for step in sharp if 0 <= step < steps})]


def _marks(phase: TrainingPhase, *, named: bool) -> list[Turn]:
    span = phase.span
    turns = [(span.first_step + step, what) for step, what in phase.schedule.turns() if 0 < step < span.steps]
    return [(span.first_step, span.name), *turns] if named else turns
