"""A learning curve -> a page: the points, the curve with its interval up to twice the data, and the statements."""

from collections.abc import Sequence
from pathlib import Path

from bakeoff.experiments.learning_curve.errors_by_size import Measurements
from bakeoff.experiments.learning_curve.fit import Curves, Interval
from bakeoff.experiments.learning_curve.statement import Statement, format_range
from bakeoff.foundation.html import svg, template
from bakeoff.foundation.html.svg import Element, Frame, Scale

FRAME = Frame(760, 380, left=56, right=24, top=20, bottom=48)
STEPS = 60  # pieces of the drawn curve
ROOM = 0.06  # free space above and below, as a share of the range of numbers


def write_page(file: Path, name: str, measurements: Measurements, statement: Statement, remarks: Sequence[str]) -> None:
    measure, last = measurements.measure, measurements.levels[-1]
    twice = 2 * last.examples
    curves, predicted = statement.curves, statement.predicted
    template.write_page(
        file, "learning_curve.html.jinja",
        title=f"{measure.name} by training examples", name=name, metric=measure.name,
        now=f"{measure.value(last.mean):.3f}", examples=last.examples, twice=twice,
        then=format_range(curves.predict(twice), measure) if curves else None,
        sentences=statement.sentences, remarks=remarks,
        rows=measurements.rows, drawing=draw_curve(measurements, curves),
        predicted=format_range(predicted, measure) if predicted else None,
        holds=predicted is not None and predicted.low <= last.mean <= predicted.high,
    )  # fmt: skip


def draw_curve(measurements: Measurements, curves: Curves | None) -> Element:
    """Draw the points over the number of examples, and the band that holds 95 % of all curves."""
    measure, levels = measurements.measure, measurements.levels
    most = levels[-1].examples * (2 if curves else 1)
    across = Scale(levels[0].examples, most, is_logarithmic=True)
    predictions = _predict(curves, across, most) if curves else []
    values = [point.value for point in measurements.points]
    values += [measure.value(end) for _, one in predictions for end in (one.low, one.high)]
    room = (max(values) - min(values) or 0.1) * ROOM
    up = Scale(min(values) - room, max(values) + room)

    def place(examples: float, value: float) -> tuple[float, float]:
        return FRAME.x(across.share(examples)), FRAME.y(up.share(value))

    ticks = [(across.share(level.examples), f"{level.examples:,}") for level in levels]
    ticks += [(1.0, f"{most:,}")] if curves else []
    rows = [*svg.draw_across(FRAME, up.ticks()), *svg.draw_below(FRAME, ticks, "training examples", grid=True)]
    if predictions:
        upper = [place(examples, measure.value(one.high)) for examples, one in predictions]
        lower = [place(examples, measure.value(one.low)) for examples, one in predictions]
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *lower[::-1]])
        rows.append(svg.draw("polygon", points=outline, class_="band"))
        middle = [place(examples, measure.value(one.middle)) for examples, one in predictions]
        rows.append(svg.draw_polyline(middle, class_="line strong"))
        now = FRAME.x(across.share(levels[-1].examples))
        rows.append(svg.draw_line(now, FRAME.y(0), now, FRAME.y(1), class_="tick"))
        rows.append(svg.draw_text(now + 6, FRAME.y(1) + 12, "predicted"))
    rows.append(svg.draw_dots([place(one.examples, one.value) for one in measurements.points], class_="dots"))
    means = [place(level.examples, measure.value(level.mean)) for level in levels]
    rows.append(svg.draw_dots(means, class_="dots first"))
    described = ", ".join(f"{measure.value(level.mean):.3f} at {level.examples:,}" for level in levels)
    return svg.draw_svg(FRAME, *rows, class_="effect", label=f"{measure.name} by training examples: {described}")


def _predict(curves: Curves, across: Scale, most: int) -> list[tuple[float, Interval]]:
    ratio = most / across.low
    sizes = [across.low * ratio ** (step / STEPS) for step in range(STEPS + 1)]
    return [(size, curves.predict(round(size))) for size in sizes]
