"""The curves of an evaluation, and the losses of the training before it, as drawings in the colours of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from bakeoff.evaluation.plots_tsv import BY_CLASS
from bakeoff.foundation.html import svg
from bakeoff.foundation.html.svg import Element, Frame, Scale

FRAME = Frame(440, 300, left=44, right=12, top=12, bottom=40)
SHARES = Scale(0.0, 1.0)
COLOURS = 10  # --c0 to --c9 of the page
MOST_CURVES, MOST_NAMED = 20, 12  # lines drawn of classes, and lines in a legend
MOST_POINTS = 400  # of a loss; where there are more, each is the mean of several
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]
    is_strong: bool = False  # in ink instead of a colour
    has_dots: bool = False


@dataclass(frozen=True)
class Chart:
    title: str  # the usual name of the plot
    question: str  # that it answers
    drawing: Element
    legend: Sequence[tuple[str, str]]  # colour and name
    unnamed: int  # lines that have no room in the legend


def draw_charts(tables: Tables, threshold: float | None) -> list[Chart]:
    """Draw what there are tables of; `threshold` is marked as the best one."""
    charts = []
    if rows := tables.get("precision_recall"):
        by_class = {name: table for name, table in tables.items() if name.startswith(f"{BY_CLASS}/")}
        lines = [
            Line(unquote(name.partition("-")[2]), _points(table, "recall", "precision"))
            for name, table in list(by_class.items())[:MOST_CURVES]
        ]
        lines.append(Line("all", _points(rows, "recall", "precision"), is_strong=True))
        charts.append(_chart("Precision–recall curve", "Precision at each recall.", "recall", "precision", lines))
    if rows := tables.get("threshold"):
        names = ("precision", "recall", "f1")
        lines = [Line(name, _points(rows, "threshold", name), is_strong=name == "f1") for name in names]
        title, question = "Precision, recall and F1 by threshold", "What a score threshold does; the best is dashed."
        charts.append(_chart(title, question, "score threshold", "share", lines, mark=threshold))
    if rows := tables.get("calibration"):
        ideal = Line("as it should be", [(0.0, 0.0), (1.0, 1.0)])
        actual = Line("as it is", _points(rows, "probability", "accuracy"), is_strong=True, has_dots=True)
        title, question = "Calibration", "Is it as sure as it should be? Each dot is a range of probabilities."
        charts.append(_chart(title, question, "probability given", "share that is right", [ideal, actual]))
    return charts


def draw_losses(history: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Draw the loss of training and of validation over steps, from the lines of history.jsonl, both without penalties;
    nothing where one of them is not known."""
    trained = [
        (float(row["step"]), row["train/loss"] - row.get("train/loss_penalty", 0.0))
        for row in history
        if "train/loss" in row
    ]
    judged = [(float(row["step"]), row["validation/loss"]) for row in history if "validation/loss" in row]
    if not trained or not judged:
        return []
    lines = [Line("training", _thin(trained)), Line("validation", _thin(judged), is_strong=True, has_dots=True)]
    points = [point for line in lines for point in line.points]
    across, up = (Scale(0.0, max(point[axis] for point in points)) for axis in (0, 1))
    question = "Does it still learn, and does that hold for what it never saw?"
    return [_chart("Loss over steps", question, "step", "loss", lines, across=across, up=up)]


def _thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Take the means of as many neighbours as leave few enough."""
    count = -(-len(points) // MOST_POINTS)
    parts = [points[start : start + count] for start in range(0, len(points), count)]
    return [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in parts]


def _chart(
    title: str, question: str, x_label: str, y_label: str, lines: Sequence[Line], *,
    mark: float | None = None, across: Scale = SHARES, up: Scale = SHARES,
) -> Chart:  # fmt: skip
    x, y = 12, (FRAME.y(0) + FRAME.y(1)) / 2
    rows = [*svg.draw_across(FRAME, up.ticks()), *svg.draw_below(FRAME, across.ticks(), x_label, grid=True)]
    rows.append(svg.draw_text(x, y, y_label, anchor="middle", transform=f"rotate(-90 {x} {y:g})"))
    if mark is not None:
        rows.append(svg.draw_line(FRAME.x(mark), FRAME.y(1), FRAME.x(mark), FRAME.y(0), class_="mark"))
    colours = ["var(--ink)" if line.is_strong else f"var(--c{at % COLOURS})" for at, line in enumerate(lines)]
    for line, colour in zip(lines, colours, strict=True):
        points = [(FRAME.x(across.share(x)), FRAME.y(up.share(y))) for x, y in line.points]
        style = {"class_": "line strong"} if line.is_strong else {"class_": "line", "style": f"stroke:{colour}"}
        rows.append(svg.draw_polyline(points, svg.draw("title", line.name), **style))
        if line.has_dots:
            rows.append(svg.draw_dots(points, class_="dot"))
    named = [(colour, line.name) for line, colour in zip(lines, colours, strict=True)] if len(lines) > 1 else []
    drawing = svg.draw_svg(FRAME, *rows, label=f"{title}: {y_label} over {x_label}")
    return Chart(title, question, drawing, named[:MOST_NAMED], max(0, len(named) - MOST_NAMED))


def _points(rows: Sequence[Mapping[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows]
