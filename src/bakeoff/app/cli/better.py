"""`bakeoff better A B`: whether B is better than A, or whether their examples do not show it."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.app.cli.command_options import Command, argument, flag, option
from bakeoff.app.cli.terminal import RUN, print_columns
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.progress import print_line

if TYPE_CHECKING:
    from bakeoff.experiments.compare.comparison_verdict import ComparisonVerdict
    from bakeoff.experiments.compare.load_runs import Gathered
    from bakeoff.experiments.compare.paired_bootstrap import PairedDifference
    from bakeoff.experiments.compare.run_row import Contender

SAMPLES, FEWEST, MOST = 2000, 100, 100_000
HEAD = ("", "A", "B", "B less A", "95 % interval", "B better in", "better")


@dataclass(frozen=True)
class BetterCommand(Command):
    a: str = argument(RUN, "A")
    b: str = argument(RUN, "B")
    on: str | None = option("use the numbers of `bakeoff evaluate`: test, or OPTION_test for other data", "NAME")
    metric: str | None = option("judge by this metric (default: the metric of the task)", "NAME")
    group: str | None = option(
        "sample examples together whose names match in (brackets); default: evaluate.group", "PATTERN"
    )
    samples: int = option(f"number of bootstrap samples ({SAMPLES:,})", "N", default=SAMPLES, least=FEWEST, most=MOST)
    json: bool = flag("print JSON, for scripts")
    uri: str | None = option("read this MLflow store")
    experiment: str | None = option("read this MLflow experiment", "NAME")

    def run(self) -> None:
        from bakeoff.experiments.compare.comparison_verdict import judge
        from bakeoff.experiments.compare.examples import find_examples
        from bakeoff.experiments.compare.load_runs import gather
        from bakeoff.experiments.compare.select_runs import require_judged

        gathered = gather(self.uri, self.experiment)
        for remark in gathered.remarks:
            print(f"warning: {remark}", file=sys.stderr)
        a, b = (_one(name, gathered) for name in (self.a, self.b))
        on = self.on
        if on is not None:
            require_judged([a, b], on)
        files = [find_examples(one if on else gathered.maker_of(one), gathered.target.address, on) for one in (a, b)]
        verdict = judge(a, b, (files[0], files[1]), metric=self.metric, group=self.group, samples=self.samples)
        if self.json:
            print(json.dumps(verdict.tree, indent=1, ensure_ascii=False))
        else:
            _print_verdict(verdict, on)


def _one(name: str, gathered: "Gathered") -> "Contender":
    from bakeoff.experiments.compare.select_runs import select_named

    matching = select_named(gathered, [name])
    if len(matching) != 1:
        raise WorkspaceError(f"{name}: must name one run, got the {len(matching)} of a sweep")
    return matching[0]


def _print_verdict(verdict: "ComparisonVerdict", on: str | None) -> None:
    from bakeoff.experiments.compare.comparison_table import find_differing_keys

    keys, _ = find_differing_keys([verdict.a, verdict.b])
    for letter, one in (("A", verdict.a), ("B", verdict.b)):
        values = ", ".join(f"{key} {one.params.get(key, '–')}" for key in keys)
        print_line(f"{letter}  {one.label}{f': {values}' if values else ''}")
    for sentence in _sentences(verdict, on):
        print_line(sentence)
    rows = sorted(verdict.differences.numbers.items(), key=lambda row: row[0] != verdict.metric)
    print_columns([HEAD, *_rows(dict(rows))])
    if verdict.by_class:
        print_line(f"{verdict.metric} of each class; these intervals hold for all classes at once")
        print_columns([HEAD, *_rows(verdict.by_class)])
    if verdict.setbacks:
        better, other = ("A", "B") if verdict.difference.value < 0 else ("B", "A")
        for line in verdict.setbacks.describe(better, other):
            print_line(line)
    if verdict.too_few:
        print_line(f"too few examples to judge by: {', '.join(verdict.too_few)}")


def _sentences(verdict: "ComparisonVerdict", on: str | None) -> Iterator[str]:
    one = verdict.difference
    words = {"A": "A is better", "B": "B is better"}.get(one.better or "", "no difference shown")
    why = "" if one.better else ", which holds 0"
    yield f"{words}: {verdict.metric} {one.a:.3f} and {one.b:.3f}, 95 % interval of B less A {_ends(one)}{why}"
    drawn = f"{verdict.differences.examples:,} examples"
    if verdict.differences.groups != verdict.differences.examples:
        drawn = f"{verdict.differences.groups:,} groups of {drawn}"
    drawn += f" of {on}" if on else ""
    yield f"{drawn}, drawn {verdict.differences.samples:,} times; what another seed of training would do is not in it"


def _rows(differences: Mapping[str, "PairedDifference"]) -> list[tuple[str, ...]]:
    return [
        (
            name, f"{one.a:.3f}", f"{one.b:.3f}", f"{one.value:+.3f}", _ends(one),
            _percent(one.probability), one.better or "not shown",
        )
        for name, one in differences.items()
    ]  # fmt: skip


def _ends(one: "PairedDifference") -> str:
    return f"{one.low:+.3f} to {one.high:+.3f}"


def _percent(share: float) -> str:
    if share > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if share < 0.001 else f"{share:.1%}".replace("%", " %")
