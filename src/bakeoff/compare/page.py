"""A comparison as one page that needs nothing else: a table that a click sorts, intervals drawn, links to the files,
and what moved the number."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bakeoff.compare import look
from bakeoff.compare.contender import Contender
from bakeoff.compare.metric import Number
from bakeoff.compare.table import KEY, METRIC, Cell, Column, Table
from bakeoff.compare.trials import question_of, trials_of
from bakeoff.effects.document import write_document
from bakeoff.effects.look import SCRIPT as ON_PLOTS
from bakeoff.effects.look import STYLE as PLOTS
from bakeoff.effects.section import section

REPORT = "evaluation/report.html"  # among a run's artifacts
MARGIN = 0.05  # of the range of a scale, on both sides


def write_page(file: Path, table: Table) -> None:
    number = len(table.contenders)
    title = f"{number} {'run' if number == 1 else 'runs'} compared"
    write_document(file, title, look.STYLE + PLOTS, look.SCRIPT + ON_PLOTS, _parts(title, table))


def _parts(title: str, table: Table) -> Iterator[str]:
    yield f"<h1>{title}</h1>"
    yield f"<p class=soft>{escape(_said(table))}</p>"
    yield from _cards(table)
    yield "<div class=wide><table class=runs><thead><tr>"
    yield from (_head(column) for column in table.columns)
    yield "<tbody>"
    scales = {column.name: _scale(column) for column in table.metrics}
    for at, contender in enumerate(table.contenders):
        cells = "".join(_cell(column, at, contender, scales) for column in table.columns)
        yield f"<tr>{cells}"
    yield "</table></div>"
    question = question_of(table)
    if question is not None:
        yield from section(trials_of(table, question), question)


def _said(table: Table) -> str:
    keys = [column.name for column in table.columns if column.kind == KEY]
    said = [f"They differ in {', '.join(keys)}." if keys else "They differ in no key that was chosen."]
    if any(cell.number and cell.number.low is not None for column in table.metrics for cell in column.cells):
        said.append("Ranges are 95 % intervals over the examples.")
    if any(contender.seeds for contender in table.contenders):
        said.append("± is the standard deviation over seeds.")
    said.append("The best of each number is bold; a click on a heading sorts.")
    return " ".join(said)


def _cards(table: Table) -> Iterator[str]:
    """The best of each metric, with what it differs in from the others."""
    yield "<div class=cards>"
    for number, column in enumerate(table.metrics):
        best = [at for at, cell in enumerate(column.cells) if cell.is_best]
        if not best:
            continue
        cell, contender = column.cells[best[0]], table.contenders[best[0]]
        keys = [f"{one.name} {one.cells[best[0]].text}" for one in table.columns if one.kind == KEY][:3]
        words = ", ".join(keys) or contender.variant
        big = " class=big" if number == 0 else ""
        value = cell.text.partition(" ")[0]
        yield f"<div{big}><b>best {escape(column.name)}</b><strong>{escape(value)}</strong>"
        yield f"<span class=soft>{escape(contender.short)}: {escape(words)}</span></div>"
    yield "</div>"


def _head(column: Column) -> str:
    down = " data-down" if column.is_higher_better else ""
    number = " class=n" if column.is_number else ""
    return f"<th{number}{down}><button>{escape(column.name)}</button>"


def _cell(column: Column, at: int, contender: Contender, scales: dict[str, tuple[float, float]]) -> str:
    cell = column.cells[at]
    value = "" if cell.value is None else f" data-value='{escape(str(cell.value), quote=True)}'"
    classes = [
        *(["n"] if column.is_number else ["key"] if column.kind == KEY else []),
        *(["best"] if cell.is_best else []),
    ]
    attribute = f" class='{' '.join(classes)}'" if classes else ""
    return f"<td{attribute}{value}>{_content(column, cell, contender, scales)}"


def _content(column: Column, cell: Cell, contender: Contender, scales: dict[str, tuple[float, float]]) -> str:
    if column.kind == METRIC and cell.number:
        return _drawn(cell.number, *scales[column.name])
    if column.name == "run":
        title = escape(f"{contender.name}, {contender.run_id}", quote=True)
        words = f"{escape(contender.variant)} {_report(contender)}"
        return f"<code title='{title}'>{escape(cell.text)}</code><span class=ends>{words}</span>"
    if column.name == "state":
        kind = contender.state if contender.state in ("SUCCEEDED", "RUNNING", "FAILED") else "other"
        return f"<span class=state-{kind}>{escape(cell.text)}</span>"
    if column.name == "MLflow":
        code = f"<code title='{escape(str(contender.mlflow_id), quote=True)}'>{escape(cell.text)}</code>"
        return f"<a href='{escape(contender.page, quote=True)}'>{code}</a>" if contender.page else code
    return escape(cell.text)


def _drawn(number: Number, low: float, high: float) -> str:
    """The number, its ends, and both on a scale that all rows share."""
    ends = _ends(number)
    if ends is None:
        return f"{number.value:.3f}"
    words = f"± {number.spread:.3f}" if number.spread is not None else f"{ends[0]:.3f} to {ends[1]:.3f}"
    left, right, point = ((value - low) / (high - low) * 100 for value in (*ends, number.value))
    return (
        f"{number.value:.3f}<div class=scale aria-hidden=true><span class=range style='left:{left:.1f}%;"
        f"width:{right - left:.1f}%'></span><span class=point style='left:{point:.1f}%'></span></div>"
        f"<span class=ends>{words}</span>"
    )


def _scale(column: Column) -> tuple[float, float]:
    values = [
        value for cell in column.cells if cell.number for value in (*(_ends(cell.number) or ()), cell.number.value)
    ]
    low, high = min(values), max(values)
    room = (high - low) * MARGIN or 1.0
    return low - room, high + room


def _ends(number: Number) -> tuple[float, float] | None:
    if number.spread is not None:
        return number.value - number.spread, number.value + number.spread
    return (number.low, number.high) if number.low is not None and number.high is not None else None


def _report(contender: Contender) -> str:
    """One for each seed, by the address that MLflow keeps it under."""
    links = [_link(one, f"seed {one.params.get('seed', '?')}") for one in contender.seeds] or [
        _link(contender, "report")
    ]
    return " ".join(filter(None, links))


def _link(contender: Contender, text: str) -> str:
    place = urlsplit(contender.artifacts or "")
    if place.scheme not in ("", "file") or not place.path:
        return ""
    report = Path(unquote(place.path)) / REPORT
    return f"<a href='{escape(report.as_uri(), quote=True)}'>{escape(text)}</a>" if report.is_file() else ""
