"""`slices.json`: how good a model is on slices of the examples, and which are weaker than chance explains.

{"metric": "f1", "examples": 150, "comparisons": 31, "statement": "1 slice is weaker than chance explains: …",
 "slices": [{"fact": "brightness", "slice": "under 63.1", "examples": 38, "value": 0.61, "rest": 0.84,
             "weakness": 4.9, "chance": 0.0005, "is_weak": true, "numbers": {"mAP_50": 0.66, "mAP": 0.41}}, …]}
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.evaluation.example_facts import GROUP, Facts
from bakeoff.evaluation.slice_significance import CHANCE, count_right, find_weak
from bakeoff.evaluation.slices import LEAST, Slice, cut_slices
from bakeoff.learning.metrics.intervals import Numbers, number_names
from bakeoff.learning.metrics.score import ByClass, Column

FILE = "slices.json"
DECIMALS = 6
NAMED = 3  # facts in a sentence
SHOWN = ("mAP_50", "mAP", "accuracy", "mean_average_precision")  # numbers beside the metric of the tally


@dataclass(frozen=True)
class SliceRow:
    fact: str
    slice: str
    examples: int
    value: float | None  # of the metric, in the slice; None where there is nothing to count
    rest: float | None  # of all other examples
    weakness: float  # how far below the others, in standard deviations
    chance: float  # the share of samples without a weak slice in which one looks so weak
    is_weak: bool
    numbers: Mapping[str, float]

    @property
    def name(self) -> str:
        return f"{self.fact} {self.slice}"


@dataclass(frozen=True)
class SliceReport:
    metric: str
    examples: int
    rows: Sequence[SliceRow]
    kind: str = "examples"

    @property
    def weakest(self) -> list[SliceRow]:
        """The weakest slice of each fact that has a weak one, the weakest first."""
        by_fact: dict[str, SliceRow] = {}
        for row in sorted((row for row in self.rows if row.is_weak), key=lambda row: -row.weakness):
            by_fact.setdefault(row.fact, row)
        return list(by_fact.values())

    @property
    def lowest(self) -> list[SliceRow]:
        """All slices, the weakest first."""
        return sorted(self.rows, key=lambda row: -row.weakness)

    @property
    def statement(self) -> str:
        if self.examples < LEAST:
            return f"no statement about slices: {self.examples:,} {self.kind}, slices need {LEAST} or more"
        if not self.rows:
            return f"no statement about slices: the {self.examples:,} {self.kind} differ in no fact"
        counted = f"{len(self.rows):,} slices of {len({row.fact for row in self.rows}):,} facts"
        if not self.weakest:
            return f"no slice is weaker than chance explains, of {counted}"
        named = "; ".join(describe_row(row, self.metric) for row in self.weakest[:NAMED])
        more = f"; and {len(self.weakest) - NAMED:,} more facts" if len(self.weakest) > NAMED else ""
        return f"weak slices, more than chance explains among {counted}: {named}{more}"

    @property
    def tree(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "examples": self.examples,
            "comparisons": len(self.rows),
            "statement": self.statement,
            "slices": [asdict(row) for row in self.rows],
        }


def describe_row(row: SliceRow, metric: str) -> str:
    return f"{row.name} ({metric} {_show(row.value)} in {row.examples:,} examples, {_show(row.rest)} in the others)"


def judge_slices(
    columns: Mapping[str, Column],
    count_weighted: Callable[[np.ndarray], tuple[Numbers, ByClass]],
    facts: Facts,
    groups: Sequence[str] | None,
    kind: str,
) -> SliceReport:
    """Compare the slices; `columns` and `count_weighted` are a score's. Examples of one of `groups` change together."""
    tally = count_right(columns)
    size = len(tally.right)
    slices = cut_slices(facts) if size >= LEAST else []
    if not slices:
        return SliceReport(tally.metric, size, [], kind)
    members = np.stack([one.members for one in slices], axis=1)
    numbered, is_group = number_groups(groups, slices)
    comparison = find_weak(tally, members, numbered, is_group)
    values, rest = tally.shares(members), tally.shares(~members)
    numbers = count_weighted(members.T.astype(np.int64))[0]
    shown = {name: numbers[name] for name in SHOWN if name in numbers and name != tally.metric}
    rows = [
        SliceRow(
            one.fact, one.range_text, int(one.members.sum()), _plain(values[at]), _plain(rest[at]),
            round(float(comparison.weakness[at]), DECIMALS), round(float(comparison.chance[at]), DECIMALS),
            bool(comparison.chance[at] <= CHANCE),
            {name: value for name, one_each in shown.items() if (value := _plain(one_each[at])) is not None},
        )
        for at, one in enumerate(slices)
    ]  # fmt: skip
    return SliceReport(tally.metric, size, rows, kind)


def number_groups(groups: Sequence[str] | None, slices: Sequence[Slice]) -> tuple[np.ndarray | None, np.ndarray]:
    """Return each example's group, None where each is its own; and which slices are groups themselves."""
    is_group = np.array([one.fact == GROUP for one in slices], bool)
    if groups is None or len(set(groups)) == len(groups):
        return None, is_group
    return number_names(groups), is_group


def write_slices(folder: Path, report: SliceReport) -> None:
    (folder / FILE).write_text(json.dumps(report.tree, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_statement(folder: Path) -> str:
    return str(json.loads((folder / FILE).read_text(encoding="utf-8"))["statement"])


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), DECIMALS)


def _show(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
