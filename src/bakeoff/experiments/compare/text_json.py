"""A table as text, a row for each run, or a column for each where that fits better; as Markdown; and as JSON."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bakeoff.experiments.compare.comparison_table import KEY, METRIC, Cell, Column, ComparisonTable
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.foundation.formatting import align, shorten

LONGEST_CELL = 28
BEST = "*"
MOST_SIDE_BY_SIDE = 6
APART = "  "
VERSION = 1  # of the JSON


def format_lines(table: ComparisonTable, width: int | None, *, all_keys: bool) -> list[str]:
    """At most `width` wide: what has no room is named below, then what the marks mean. `all_keys` were asked for."""
    lines, remarks = _lay_out(table, width), list_remarks(table, all_keys=all_keys)
    if width is None:
        return [*lines, *remarks]
    return [*lines, *(part for text in remarks for part in textwrap.wrap(text, width, subsequent_indent="  "))]


def _lay_out(table: ComparisonTable, width: int | None) -> list[str]:
    rows = _rows(table.columns)
    if width is None or _width(rows) <= width:
        return align(rows)
    if len(table.contenders) <= MOST_SIDE_BY_SIDE:
        turned = [list(row) for row in zip(*rows, strict=True)]
        if _width(turned) <= width:
            return align(turned)
    kept = list(table.columns[:1])
    for column in sorted(table.columns[1:], key=lambda column: column.rank):
        if _width(_rows([*kept, column])) <= width:
            kept.append(column)
    shown = [column for column in table.columns if column in kept]
    left = [column.name for column in table.columns if column not in kept]
    remark = f"no room for: {', '.join(left)} (--html and --json have them)"
    return [*align(_rows(shown)), *textwrap.wrap(remark, width, subsequent_indent="  ")]


def list_remarks(table: ComparisonTable, *, all_keys: bool) -> list[str]:
    """Return what the marks of a table mean, and what is not in it."""
    marks = []
    if any(cell.is_best for column in table.columns for cell in column.cells):
        marks.append("* the best")
    numbers = [cell.number for column in table.metrics for cell in column.cells if cell.number]
    if any(number.low is not None for number in numbers):
        marks.append("(low–high) 95 % interval over the examples")
    if any(number.spread is not None for number in numbers):
        marks.append("± standard deviation over seeds")
    notes = ["; ".join(marks)] if marks else []
    if _overlap(table):
        first, second = (one.short for one in table.contenders[:2])
        notes.append(f"intervals of the first two overlap; `bakeoff better {second} {first}` tells whether they differ")
    if table.other_keys and not all_keys:
        notes.append(f"{len(table.other_keys)} more keys differ with these: --all-keys shows them")
    return notes


def _overlap(table: ComparisonTable) -> bool:
    """Tell whether the intervals of the first two overlap, of the metric that stands first."""
    numbers = [cell.number for cell in table.metrics[0].cells[:2]] if table.metrics else []
    ends = [(one.low, one.high) for one in numbers if one and one.low is not None and one.high is not None]
    if len(ends) < 2:
        return False
    (low, high), (other_low, other_high) = ends
    return low <= other_high and other_low <= high


def format_markdown(table: ComparisonTable) -> list[str]:
    heads = [f"| {' | '.join(_escape(column.name) for column in table.columns)} |"]
    heads.append("|" + "|".join("---:" if column.is_number else "---" for column in table.columns) + "|")
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return [*heads, *(f"| {' | '.join(map(_emphasize, row))} |" for row in rows)]


def _rows(columns: Sequence[Column]) -> list[list[str]]:
    return [
        list(row)
        for row in zip(*([shorten(column.name, LONGEST_CELL), *_texts(column)] for column in columns), strict=True)
    ]


def _texts(column: Column) -> list[str]:
    """The mark stands right behind the number, and where there is none a blank, so that numbers stay in line."""
    if not any(cell.is_best for cell in column.cells):
        return [shorten(cell.text, LONGEST_CELL) for cell in column.cells]
    marked = []
    for cell in column.cells:
        value, blank, rest = cell.text.partition(" ")
        mark = BEST if cell.is_best else " "
        marked.append(f"{value}{mark}{blank}{rest}" if column.kind == METRIC else f"{cell.text}{mark}")
    return marked


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) + len(APART) * (len(rows[0]) - 1)


def _emphasize(cell: Cell) -> str:
    text = _escape(cell.text)
    return f"**{text}**" if cell.is_best else text


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def as_tree(table: ComparisonTable) -> dict[str, Any]:
    """Keys are only ever added as long as `version` stays."""
    return {
        "version": VERSION,
        "keys": [column.name for column in table.columns if column.kind == KEY],
        "metrics": [
            {
                "name": column.name,
                "higher_is_better": column.is_higher_better,
                "best": [one.run_id for one, cell in zip(table.contenders, column.cells, strict=True) if cell.is_best],
            }
            for column in table.columns
            if column.kind == METRIC
        ],
        "runs": [_run_tree(contender, [column.name for column in table.metrics]) for contender in table.contenders],
    }


def _run_tree(contender: Contender, shown: list[str]) -> dict[str, Any]:
    numbers = {name: number for name in shown if (number := contender.number(name))}
    return {
        "run": contender.run_id, "name": contender.name, "state": contender.state,
        "numbers": {name: asdict(number) for name, number in numbers.items()},
        "cost": contender.cost.tree, "experiment": contender.experiment, "sweep": contender.sweep,
        "commit": contender.commit, "uncommitted_changes": contender.is_dirty, "records": contender.records,
        "began": None if contender.began is None else contender.began / 1000, "reused_from": contender.reused_from,
        "note": contender.note,
        "mlflow": {
            "run": contender.mlflow_id, "experiment": contender.mlflow_experiment, "artifacts": contender.artifacts,
            "page": contender.page,
        },
        "params": dict(contender.params),
        "metrics": {key: value if value == value else None for key, value in contender.metrics.items()},
        "seeds": [_run_tree(seed, shown) for seed in contender.seeds],
    }  # fmt: skip
