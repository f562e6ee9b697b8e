"""The names of two runs -> the verdict on them, and a verdict -> lines of text."""

from collections.abc import Iterator, Mapping

from bakeoff.experiments.compare.comparison_table import find_differing_keys
from bakeoff.experiments.compare.comparison_verdict import ComparisonVerdict, judge, match_runs
from bakeoff.experiments.compare.examples import find_examples
from bakeoff.experiments.compare.load_runs import Gathered
from bakeoff.experiments.compare.paired_bootstrap import PairedDifference
from bakeoff.experiments.compare.select_runs import require_judged, select_one
from bakeoff.foundation.formatting import align

SAMPLES = 2000  # of the bootstrap
HEAD = ("", "A", "B", "B less A", "95 % interval", "B better in", "better")


def judge_named(
    gathered: Gathered, names: tuple[str, str], on: str | None = None, *, metric: str | None = None,
    group: str | None = None, samples: int | None = None,
) -> ComparisonVerdict:  # fmt: skip
    """Compare two runs by their validation examples, or by those of another evaluation that `on` names."""
    a, b = (select_one(name, gathered) for name in names)
    if on is not None:
        require_judged([a, b], on)
    address = gathered.target.address
    files = [find_examples(run if on else gathered.maker_of(run), address, on) for run in (a, b)]
    return judge(a, b, match_runs(a, b, files, group), metric=metric, samples=samples or SAMPLES)


def describe_verdict(verdict: ComparisonVerdict, on: str | None = None) -> Iterator[str]:
    keys, _ = find_differing_keys([verdict.a, verdict.b])
    for letter, run in (("A", verdict.a), ("B", verdict.b)):
        values = ", ".join(f"{key} {run.params.get(key, '–')}" for key in keys)
        yield f"{letter}  {run.label}{f': {values}' if values else ''}"
    one = verdict.difference
    words = {"A": "A is better", "B": "B is better"}.get(one.better or "", "no difference shown")
    why = "" if one.better else ", which holds 0"
    yield f"{words}: {verdict.metric} {one.a:.3f} and {one.b:.3f}, 95 % interval of B less A {_ends(one)}{why}"
    drawn = f"{verdict.differences.examples:,} examples"
    if verdict.differences.groups != verdict.differences.examples:
        drawn = f"{verdict.differences.groups:,} groups of {drawn}"
    drawn += f" of {on}" if on else ""
    yield f"{drawn}, drawn {verdict.differences.samples:,} times; what another seed of training would do is not in it"
    rows = sorted(verdict.differences.numbers.items(), key=lambda row: row[0] != verdict.metric)
    yield from align([HEAD, *_rows(dict(rows))])
    if verdict.by_class:
        yield f"{verdict.metric} of each class; these intervals hold for all classes at once"
        yield from align([HEAD, *_rows(verdict.by_class)])
    if verdict.setbacks:
        yield from verdict.setbacks.describe(*("A", "B") if one.value < 0 else ("B", "A"))
    if verdict.too_few:
        yield f"too few examples to judge by: {', '.join(verdict.too_few)}"


def _rows(differences: Mapping[str, PairedDifference]) -> list[tuple[str, ...]]:
    return [
        (
            name, f"{one.a:.3f}", f"{one.b:.3f}", f"{one.value:+.3f}", _ends(one),
            _percent(one.probability), one.better or "not shown",
        )
        for name, one in differences.items()
    ]  # fmt: skip


def _ends(one: PairedDifference) -> str:
    return f"{one.low:+.3f} to {one.high:+.3f}"


def _percent(share: float) -> str:
    if share > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if share < 0.001 else f"{share:.1%}".replace("%", " %")
