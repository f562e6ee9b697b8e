"""A comparison as one page: a table that a click sorts, intervals drawn, links to files, and what moved the number."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bakeoff.experiments.compare.comparison_table import CUT_SHORT, KEY, RECORDS, Cell, Column, ComparisonTable
from bakeoff.experiments.compare.run_row import SUCCEEDED, Contender, Number
from bakeoff.experiments.importance.describe import format_figure
from bakeoff.experiments.importance.html_section import draw_section
from bakeoff.experiments.importance.trial import Question, Trial
from bakeoff.foundation.formatting import format_count
from bakeoff.foundation.html import template

REPORT = "evaluation/report.html"  # among a run's artifacts
MARGIN = 0.05  # of the range of a scale, on both sides
DRAWN_STATES = ("SUCCEEDED", "RUNNING", "FAILED")


@dataclass(frozen=True)
class IntervalBar:
    """A number and its ends in percent of the scale that all rows share."""

    left: float
    width: float
    middle: float
    caption: str


def write_page(file: Path, table: ComparisonTable, setbacks: Sequence[str] = ()) -> None:
    """`setbacks` say on which slices the better of two runs is worse."""
    number = len(table.contenders)
    scales = {column.name: _scale(column, table) for column in table.metrics}
    question = question_of(table)
    template.write_page(
        file, "comparison.html.jinja",
        title=f"{format_count(number, 'run')} compared",
        keys=[column.name for column in table.columns if column.kind == KEY],
        has_ranges=any(
            cell.number and cell.number.low is not None for column in table.metrics for cell in column.cells
        ),
        has_seeds=any(contender.seeds for contender in table.contenders),
        cards=_cards(table),
        columns=table.columns,
        rows=[
            (one, [
                (column, cell := column.cells[at], _draw(cell, scales.get(column.name))) for column in table.columns
            ])
            for at, one in enumerate(table.contenders)
        ],
        link_reports=lambda contender: _link_reports(contender, file.parent),
        ends={name: [format_figure(end) for end in scale] for name, scale in scales.items() if scale},
        setbacks=setbacks, drawn_states=DRAWN_STATES, cut_short=CUT_SHORT,
        effects=draw_section(trials_of(table, question), question) if question else "",
    )  # fmt: skip


def question_of(table: ComparisonTable) -> Question | None:
    """What is asked of the runs: the keys that differ, and the number that stands first; None if none was measured."""
    if not table.metrics:
        return None
    # Where records differ, no number compares with another's of other records.
    keys = [column.name for column in table.columns if column.kind == KEY or column.name == RECORDS]
    first = table.metrics[0]
    return Question(tuple(keys), first.name, first.is_higher_better)


def trials_of(table: ComparisonTable, question: Question) -> list[Trial]:
    trials = []
    for one in table.contenders:
        known = {**one.params, **({RECORDS: one.records[:8]} if one.records else {})}
        measured = [seed.number(question.metric) for seed in one.seeds or (one,)]
        values = {key: known[key] for key in question.keys if key in known}
        numbers = tuple(number.value for number in measured if number)
        trials.append(Trial(one.label, values, numbers, one.state, one.state in (SUCCEEDED, "")))
    return trials


def _cards(table: ComparisonTable) -> list[tuple[str, str, str, bool]]:
    """The best of each metric: its name, the number, which run with what it differs in, and whether it stands first."""
    cards = []
    for number, column in enumerate(table.metrics):
        at = next((at for at, cell in enumerate(column.cells) if cell.is_best), None)
        if at is not None:
            one = table.contenders[at]
            keys = [f"{other.name} {other.cells[at].text}" for other in table.columns if other.kind == KEY][:3]
            description = f"{one.short}: {', '.join(keys) or one.variant}"
            cards.append((f"best {column.name}", column.cells[at].text.partition(" ")[0], description, number == 0))
    return cards


def _draw(cell: Cell, scale: tuple[float, float] | None) -> IntervalBar | None:
    ends = _ends(cell.number) if cell.number else None
    if cell.number is None or ends is None or scale is None or scale[0] == scale[1]:
        return None
    number, (low, high) = cell.number, scale
    caption = f"± {number.spread:.3f}" if number.spread is not None else f"{ends[0]:.3f} to {ends[1]:.3f}"
    shares = ((value - low) / (high - low) * 100 for value in (*ends, number.value))
    left, right, middle = (min(100.0, max(0.0, share)) for share in shares)
    return IntervalBar(left, right - left, middle, caption)


def _scale(column: Column, table: ComparisonTable) -> tuple[float, float] | None:
    """From the lowest end to the highest; one that was cut short, with numbers far from the others', does not stretch
    it, and the room beside them does not leave 0 to 1. None where no number has an interval."""
    cells = zip(table.contenders, column.cells, strict=True)
    known = [(one.state not in CUT_SHORT, number) for one, cell in cells if (number := cell.number)]
    counting = [number for counts, number in known if counts] or [number for _, number in known]
    values = [value for number in counting for value in (*(_ends(number) or ()), number.value)]
    if not any(_ends(number) for number in counting):
        return None
    low, high = min(values), max(values)
    room = (high - low) * MARGIN
    return low - room if low < 0 else max(0.0, low - room), high + room if high > 1 else min(1.0, high + room)


def _ends(number: Number) -> tuple[float, float] | None:
    if number.spread is not None:
        return number.value - number.spread, number.value + number.spread
    return (number.low, number.high) if number.low is not None and number.high is not None else None


def _link_reports(contender: Contender, folder: Path) -> list[tuple[str, str]]:
    """Address and words, one for each seed, where the files that MLflow keeps are on this machine. Addresses go from
    the page's folder, so that page and files can move together."""
    runs = [(one, f"seed {one.params.get('seed', '?')}") for one in contender.seeds] or [(contender, "report")]
    return [(_address(report, folder), caption) for one, caption in runs if (report := one.artifact(REPORT))]


def _address(file: Path, folder: Path) -> str:
    try:
        return quote(Path(os.path.relpath(file, folder.resolve())).as_posix())
    except ValueError:  # on Windows, of another drive
        return file.as_uri()
