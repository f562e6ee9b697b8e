"""The journal of a run, or its history -> its curves as drawings: the losses, and the number by which it is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from bakeoff.experiments.runs.run_status import VALIDATION, headline_of
from bakeoff.foundation import workspace
from bakeoff.foundation.html.svg import (
    Element,
    Frame,
    Scale,
    draw_across,
    draw_below,
    draw_dots,
    draw_polyline,
    draw_svg,
    draw_text,
)
from bakeoff.learning.plan.phases import TrainingPhase
from bakeoff.learning.plan.run_length import is_endless
from bakeoff.tracking.journal.entries import MetricsEntry, ParamsEntry
from bakeoff.tracking.journal.journal import entries
from bakeoff.tracking.journal.journal_folder import FILE

TRAINING_LOSS, VALIDATION_LOSS = "train/loss", "validation/loss"
EVALUATION, EXAMPLES = "evaluation/", "derived.validation_examples"
FEW = 40  # examples, below which an interval is too wide to choose by (docs/howto/how-many-images.md)
RATES = 150  # points of a phase's rate
MOST_POINTS = 300  # of a line; more are no finer on a screen
FRAME = Frame(440, 240, left=48, right=22, top=24, bottom=38)
Points = list[tuple[int, float]]


@dataclass(frozen=True)
class CurveDrawing:
    title: str
    drawing: Element
    legend: tuple[tuple[str, str], ...]  # class of the line, and what it is


def draw_curves(run_id: str, steps: int) -> list[CurveDrawing]:
    """Return the curves of a run that has a journal; none of a run without a point yet."""
    folder = workspace.journals() / run_id
    if not run_id or not (folder / FILE).is_file():
        return []
    return draw_series(_follow(folder).read(), steps)


@dataclass(frozen=True)
class HeadlineEstimate:
    """How good a run is, and how sure that is."""

    metric: str
    value: float
    low: float | None  # of the 95 % interval; None before the evaluation, which alone has one
    high: float | None
    examples: int | None  # that it was measured on

    @property
    def caution(self) -> str:
        """Return why the number is to be read with care; "" where it may be trusted."""
        if self.examples is not None and self.examples < FEW:
            return f"too few photos to be sure: {self.examples}"
        return "" if self.low is not None else "without an interval until it is evaluated"


def read_estimate(run_id: str) -> HeadlineEstimate | None:
    """Return the headline metric of a run's evaluation, else of its last validation pass."""
    last = read_last_values(run_id)
    headline = headline_of(last)
    if headline is None:
        return None
    metric, value = headline
    evaluated = last.get(f"{EVALUATION}{metric}")
    low, high = (last.get(f"{EVALUATION}interval.{metric}.{side}") for side in ("low", "high"))
    is_known = evaluated is not None and low is not None and high is not None
    return HeadlineEstimate(
        metric, value if evaluated is None else evaluated, low if is_known else None, high if is_known else None,
        _follow(workspace.journals() / run_id).examples,
    )  # fmt: skip


def read_last_values(run_id: str) -> dict[str, float]:
    """Return the last value of each number of a run by its name; nothing of a run without a journal."""
    folder = workspace.journals() / run_id
    if not run_id or not (folder / FILE).is_file():
        return {}
    return {name: points[-1][1] for name, points in _follow(folder).read().items()}


def draw_series(series: Mapping[str, Points], steps: int = 0) -> list[CurveDrawing]:
    """Draw the losses and the headline among numbers by their names, each by its steps."""
    curves = []
    losses = {name: series[name] for name in (TRAINING_LOSS, VALIDATION_LOSS) if series.get(name)}
    if losses:
        curves.append(_draw("Loss", losses, steps))
    headline = headline_of({name: points[-1][1] for name, points in series.items() if points})
    if headline and headline[0] != "loss":
        curves.append(_draw(headline[0], {VALIDATION + headline[0]: series[VALIDATION + headline[0]]}, steps))
    return curves


class Series:
    """The numbers of a journal by their names, each by its steps; of a journal that has grown only the end is read."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._one_at_a_time = folder, Lock()
        self._offset, self._file = 0, 0
        self._points: dict[str, dict[int, float]] = {}
        self.examples: int | None = None  # of a validation pass

    def read(self) -> dict[str, Points]:
        """Return the points up to now."""
        with self._one_at_a_time:
            stat = (self._folder / FILE).stat()
            if stat.st_size < self._offset or stat.st_ino != self._file:  # another journal lies in its place
                self._offset, self._file, self._points = 0, stat.st_ino, {}
            for entry, end in entries(self._folder, self._offset):
                self._offset = end
                if isinstance(entry, MetricsEntry):
                    for name, value in entry.values.items():
                        self._points.setdefault(name, {})[entry.step] = float(value)
                elif isinstance(entry, ParamsEntry) and entry.values.get(EXAMPLES, "").isdecimal():
                    self.examples = int(entry.values[EXAMPLES])
            return {name: sorted(points.items()) for name, points in self._points.items()}


@lru_cache(maxsize=16)
def _follow(folder: Path) -> Series:
    return Series(folder)


def draw_rate(phases: Sequence[TrainingPhase]) -> Element:
    """Return the learning rate over the steps of a run that is planned."""
    points = []
    for phase in phases:
        first, steps = phase.span.first_step, phase.shown_steps
        shown = sorted({*range(0, steps, max(1, steps // RATES)), steps - 1})
        points += [(first + step, phase.rate(first + step)) for step in shown]
    return _draw("learning rate", {"learning rate": points}, points[-1][0], digits=6).drawing


def _draw(title: str, series: Mapping[str, Points], steps: int, *, digits: int = 3) -> CurveDrawing:
    numbers = [value for points in series.values() for _, value in points]
    last = max([0 if is_endless(steps) else steps, *(points[-1][0] for points in series.values())])
    across, up = Scale(0, max(1, last)), Scale.around([0.0, *numbers])
    rows = [*draw_across(FRAME, up.ticks()), *draw_below(FRAME, across.ticks(), "step", grid=False)]
    for number, points in enumerate(series.values()):
        places = [(FRAME.x(across.share(step)), FRAME.y(up.share(value))) for step, value in _thin(points)]
        line = f"line c{number}"
        rows.append(
            draw_dots(places, class_=f"dots {line}") if len(places) == 1 else draw_polyline(places, class_=line)
        )
        if len(series) == 1 and digits == 3:
            rows.append(draw_text(places[-1][0] - 6, places[-1][1] - 8, f"{points[-1][1]:.{digits}f}", anchor="end"))
    summary = ", ".join(
        f"{name} {points[-1][1]:.{digits}f} at step {points[-1][0]:,}" for name, points in series.items()
    )
    legend = tuple((f"c{number}", name) for number, name in enumerate(series)) if len(series) > 1 else ()
    return CurveDrawing(title, draw_svg(FRAME, *rows, label=f"{title}: {summary}"), legend)


def _thin(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    every = max(1, -(-len(points) // MOST_POINTS))
    return [*points[:-1:every], points[-1]]
