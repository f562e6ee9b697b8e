"""`report.html`: an evaluation on one page that needs nothing else, no network and no script."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bakeoff.metrics.catalogue import BY_HEADLINE, ERRORS, METRICS
from bakeoff.report import charts, confusion
from bakeoff.report.gallery import Shown, figures
from bakeoff.report.style import STYLE

FILE = "report.html"
ALLOWED = "\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\""  # browsers refuse everything else
MOST_CLASSES = 300
MOST_CURVES = 20


@dataclass(frozen=True)
class Report:
    title: str
    facts: Mapping[str, str]
    headline: str
    numbers: Mapping[str, Any]  # what metrics.json holds, but for the intervals
    intervals: Mapping[str, Mapping[str, float]]
    intervals_of: str  # what was drawn again and again; nothing if no interval was asked for
    tables: Mapping[str, Sequence[Mapping[str, Any]]]  # the plots
    counts: Mapping[str, int]  # true labels or boxes by class
    worst: Sequence[Shown] = field(default=())
    best: Sequence[Shown] = field(default=())


def write_page(folder: Path, report: Report) -> None:
    text = "\n".join(_parts(report))
    (folder / FILE).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _parts(report: Report) -> Iterator[str]:
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(report.title)}</title>"
    yield f"<meta http-equiv=Content-Security-Policy content={ALLOWED}>"
    yield f"<meta name=viewport content='width=device-width'><style>{STYLE}</style>"
    yield f"<h1>{escape(report.title)}</h1>"
    yield "<p class=soft>" + " · ".join(f"{escape(name)} {escape(text)}" for name, text in report.facts.items())
    yield from _cards(report)
    yield from _said(report)
    if report.worst:
        yield f"<h2>Worst examples</h2>{_key(report)}<div class=gallery>{figures(report.worst, 'worst')}</div>"
    yield from _curves(report)
    yield from _errors(report)
    yield from _classes(report)
    if pairs := report.tables.get("confusion"):
        yield from confusion.section(pairs, list(report.counts))
    if report.best:
        yield f"<h2>Best examples</h2>{_key(report)}<div class=gallery>{figures(report.best, 'best')}</div>"
    yield from _all_numbers(report)


def _cards(report: Report) -> Iterator[str]:
    shown = [report.headline, *(name for name in report.intervals if name != report.headline)]
    yield "<div class=cards>"
    for name in (name for name in shown if name in report.numbers):
        value, interval = report.numbers[name], report.intervals.get(name)
        big = " class=big" if name == report.headline else ""
        yield f"<div{big}><b>{escape(name)}</b><strong>{value:.3f}</strong>"
        if interval:
            yield f"<span class=soft>{interval['low']:.3f} to {interval['high']:.3f}</span>"
            yield (
                "" if METRICS[name].is_higher_better is False else charts.span(value, interval["low"], interval["high"])
            )
        yield "</div>"
    yield "</div>"


def _said(report: Report) -> Iterator[str]:
    """The page in a few sentences."""
    numbers, said = report.numbers, []
    if "threshold" in numbers and "f1" in numbers:
        said.append(
            f"Counting detections from a score of {numbers['threshold']:.2f} on, {numbers['precision']:.0%} of them "
            f"are right and {numbers['recall']:.0%} of the true boxes are found."
        )
        kind, count = max(numbers["errors"].items(), key=lambda item: item[1])
        if count:
            said.append(f"The most frequent mistake is {kind.replace('_', ' ')} ({count:,}): {ERRORS[kind]}.")
    key = next((key for key in ("AP_50", "average_precision", "f1") if isinstance(numbers.get(key), dict)), None)
    if key and len(numbers[key]) > 1:
        label, value = min(numbers[key].items(), key=lambda item: item[1])
        said.append(f"The weakest class is {label} ({METRICS[key].heading or key} {value:.2f}).")
    if report.intervals:
        said.append(
            f"Ranges are 95 % intervals over {report.intervals_of}: so far the numbers move when others like these are "
            "drawn. Two variants whose ranges overlap widely may well be equally good."
        )
    if said:
        yield f"<p>{escape(' '.join(said))}</p>"


def _key(report: Report) -> str:
    if "errors" not in report.tables:
        return ""
    return (
        "<p class=soft>Left the truth: <span class=true-key>found</span>, <span class=missed-key>not found</span>. "
        "Right what the model gave from the best threshold on: <span class=right>right</span>, "
        "<span class=wrong>wrong</span>.</p>"
    )


def _curves(report: Report) -> Iterator[str]:
    tables, drawn = report.tables, []
    if rows := tables.get("precision_recall"):
        folder = "precision_recall_by_class/"
        by_class = {name: table for name, table in tables.items() if name.startswith(folder)}
        lines = [
            charts.Line(unquote(name.partition("-")[2]), _points(table, "recall", "precision"))
            for name, table in by_class.items()
        ]
        mean = charts.Line("all", _points(rows, "recall", "precision"), strong=True)
        chart = charts.line_chart("recall", "precision", [*lines[:MOST_CURVES], mean])
        drawn.append(("Precision at each recall", chart))
    if rows := tables.get("threshold"):
        lines = [charts.Line(name, _points(rows, "threshold", name)) for name in ("precision", "recall")]
        lines.append(charts.Line("f1", _points(rows, "threshold", "f1"), strong=True))
        best = report.numbers.get("threshold", report.numbers.get("best_threshold"))
        drawn.append(("What a score threshold does", charts.line_chart("score threshold", "share", lines, at=best)))
    if rows := tables.get("calibration"):
        found = charts.Line("as it is", _points(rows, "probability", "accuracy"), strong=True, dots=True)
        chart = charts.line_chart("probability given", "share that is right", [charts.diagonal(), found])
        drawn.append(("Is it as sure as it should be?", chart))
    if drawn:
        yield "<h2>Curves</h2><div class=charts>"
        yield from (f"<div><h3>{title}</h3>{chart}</div>" for title, chart in drawn)
        yield "</div>"


def _errors(report: Report) -> Iterator[str]:
    if "lost_mAP_50" not in report.numbers:
        return
    counts, lost = report.numbers["errors"], report.numbers["lost_mAP_50"]
    most, most_lost = max(1, *counts.values()), max(0.01, *lost.values())
    yield (
        "<h2>Errors by kind</h2><table class=bars><tr><th>kind<th class=n>count<th><th class=n>costs mAP_50<th><th>is"
    )
    for kind in counts:
        cells = charts.bar(counts[kind] / most, f"{counts[kind]:,}")
        cells += charts.bar(lost[kind] / most_lost, f"{lost[kind]:.3f}")
        yield f"<tr><td>{kind.replace('_', ' ')}{cells}<td class=soft>{ERRORS[kind]}"
    yield (
        "</table><p class=soft>Counts are at the best threshold; the cost is how much higher mAP_50, which counts "
        "every detection, would be without errors of that kind.</p>"
    )


def _classes(report: Report) -> Iterator[str]:
    columns = [key for key in BY_HEADLINE[report.headline].of_classes if key in report.numbers]
    if not columns or not report.counts:
        return
    heads = "".join(f"<th class=n>{escape(METRICS[key].heading or key)}<th>" for key in columns)
    counted = "boxes" if "errors" in report.tables else "examples"
    yield f"<h2>Classes</h2><table class=bars><tr><th>class<th class=n>{counted}{heads}"
    for label, count in list(report.counts.items())[:MOST_CLASSES]:
        cells = "".join(_cell(report.numbers[key].get(label)) for key in columns)
        yield f"<tr><td>{escape(label)}<td class=n>{count:,}{cells}"
    yield "</table>"
    if len(report.counts) > MOST_CLASSES:
        yield f"<p class=soft>and {len(report.counts) - MOST_CLASSES:,} more, all in metrics.json</p>"


def _cell(value: float | None) -> str:
    return "<td class='n soft'>none<td class=track>" if value is None else charts.bar(value, f"{value:.3f}")


def _all_numbers(report: Report) -> Iterator[str]:
    yield "<h2>All numbers</h2><table><tr><th>name<th class=n>value<th class=n>95 % interval<th>means"
    for name, value in report.numbers.items():
        if isinstance(value, float):
            interval = report.intervals.get(name)
            ends = f"{interval['low']:.4f} to {interval['high']:.4f}" if interval else ""
            lower = " Lower is better." if METRICS[name].is_higher_better is False else ""
            yield f"<tr><td>{escape(name)}<td class=n>{value:.4f}<td class=n>{ends}<td class=soft>"
            yield METRICS[name].meaning + lower
    yield "</table>"


def _points(rows: Sequence[Mapping[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows]
