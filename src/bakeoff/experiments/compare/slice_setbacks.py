"""Two evaluations of the same examples -> the slices on which the better one is worse than the other.

Better by mAP_50 0.835 to 0.801 on the whole, worse where brightness is under 63: f1 0.52 to 0.61 in 38 examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.evaluation.example_facts import Fact
from bakeoff.evaluation.examples_parquet import FACT
from bakeoff.evaluation.settings import Evaluate
from bakeoff.evaluation.slice_significance import CHANCE, ExampleCounts, count_right, find_worse
from bakeoff.evaluation.slices import LEAST, cut_slices
from bakeoff.evaluation.weak_slices import number_groups
from bakeoff.experiments.compare.examples import Judged, Name

SHOWN = 3  # slices in words, each of another fact
UNKNOWN = "slices are not compared: an earlier version evaluated these runs and kept no facts of the examples"


@dataclass(frozen=True)
class Setback:
    """A slice on which the better one is worse."""

    fact: str
    slice: str
    examples: int
    better: float  # the metric of the one that is better on the whole
    other: float
    weakness: float  # of the better one, in standard deviations
    chance: float  # of samples in which the better one is as much worse on some slice, though it is not


@dataclass(frozen=True)
class Setbacks:
    metric: str
    examples: int
    comparisons: int
    worse: Sequence[Setback]  # the surest first

    def describe(self, better: str, other: str) -> list[str]:
        """Return lines; `better` and `other` are how both are called."""
        if self.examples < LEAST:
            return [f"no statement about slices: {self.examples:,} examples, slices need {LEAST} or more"]
        if not self.comparisons:
            return []
        if not self.worse:
            statement = f"and on none of {self.comparisons:,} slices worse than {other} beyond chance"
            return [f"{better} is better on the whole, {statement}"]
        first: dict[str, Setback] = {}
        for row in self.worse:
            first.setdefault(row.fact, row)
        lines = [f"{better} is better on the whole, but on these of {self.comparisons:,} slices worse than {other}:"]
        for row in list(first.values())[:SHOWN]:
            statement = f"{self.metric} {row.better:.2f} to {row.other:.2f} in {row.examples:,} examples"
            lines.append(f"  {row.fact} {row.slice}: {statement}, chance {row.chance:.4f}")
        return lines


def has_facts(judged: Judged) -> bool:
    return any(name.startswith(FACT) for row in judged.rows.values() for name in row)


def find_setbacks(better: Judged, other: Judged, names: Sequence[Name], grouped: Evaluate) -> Setbacks:
    """Compare both on every slice of the examples `names`, which both have; `grouped` says which change together."""
    tallies = [_count(one, names, (*better.classes, *other.classes)) for one in (better, other)]
    metric, slices = tallies[0].metric, cut_slices(_facts(other, names)) if len(names) >= LEAST else []
    if not slices:
        return Setbacks(metric, len(names), 0, [])
    members = np.stack([one.members for one in slices], axis=1)
    groups = grouped.groups_of([file for file, _ in names]) if grouped.group else None
    comparison = find_worse(tallies[1], tallies[0], members, *number_groups(groups, slices))
    shares = [tally.shares(members) for tally in tallies]
    rows = [
        Setback(
            one.fact, one.range_text, int(one.members.sum()), float(shares[0][at]), float(shares[1][at]),
            round(float(comparison.weakness[at]), 6), round(float(comparison.chance[at]), 6),
        )
        for at, one in enumerate(slices) if comparison.chance[at] <= CHANCE and shares[0][at] < shares[1][at]
    ]  # fmt: skip
    return Setbacks(metric, len(names), len(slices), sorted(rows, key=lambda row: -row.weakness))


def _count(judged: Judged, names: Sequence[Name], classes: Sequence[str]) -> ExampleCounts:
    return count_right(judged.score(names, list(dict.fromkeys(classes))).columns())


def _facts(judged: Judged, names: Sequence[Name]) -> dict[str, Fact]:
    rows = [judged.rows[name] for name in names]
    columns = [name for name in rows[0] if name.startswith(FACT)] if rows else []
    facts = {}
    for column in columns:
        values = [row[column] for row in rows]
        is_text = any(isinstance(value, str) for value in values)
        facts[column.removeprefix(FACT)] = np.array(values, str if is_text else np.float64)
    return facts
