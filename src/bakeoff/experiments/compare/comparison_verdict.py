"""Two runs -> whether the second is better than the first, as far as their common examples show it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.evaluation.settings import Evaluate
from bakeoff.experiments.compare.examples import Judged, Name, match_examples
from bakeoff.experiments.compare.paired_bootstrap import Differences, PairedDifference, compare_scores
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.experiments.compare.slice_setbacks import UNKNOWN, Setbacks, find_setbacks, has_facts
from bakeoff.foundation.errors import DataError, OutOfRange, WorkspaceError, choices
from bakeoff.learning.metrics.names import BY_HEADLINE

LEAST = 10  # groups of examples: fewer bootstrap samples of them say too little of others like them
GROUP = "evaluate.group"
VERSION = 1


@dataclass(frozen=True, repr=False)
class ComparisonVerdict:
    """Whether run B is better than run A, by the examples that both were evaluated on."""

    a: Contender
    b: Contender
    metric: str
    differences: Differences
    too_few: tuple[str, ...]  # classes in fewer groups than are needed
    setbacks: Setbacks | None = None  # of the better one; None where both are equal, or no facts are known

    def __repr__(self) -> str:
        from bakeoff.experiments.compare.verdict_text import describe_verdict

        return "\n".join(describe_verdict(self))

    @property
    def difference(self) -> PairedDifference:
        return self.differences.numbers[self.metric]

    @property
    def by_class(self) -> dict[str, PairedDifference]:
        return dict(self.differences.by_class.get(self.metric, {}))

    @property
    def tree(self) -> dict[str, Any]:
        return {
            "version": VERSION, "a": self.a.run_id, "b": self.b.run_id, "metric": self.metric,
            "better": {"A": self.a.run_id, "B": self.b.run_id}.get(self.difference.better or ""),
            "examples": self.differences.examples, "groups": self.differences.groups,
            "samples": self.differences.samples,
            "numbers": {name: _tree(one) for name, one in self.differences.numbers.items()},
            "by_class": {label: _tree(one) for label, one in self.by_class.items()},
            "too_few_examples": list(self.too_few),
            "slices": asdict(self.setbacks) if self.setbacks else None,
        }  # fmt: skip


@dataclass(frozen=True)
class MatchedExamples:
    """What two runs answered on the same examples."""

    a: Judged
    b: Judged
    names: Sequence[Name]
    grouped: Evaluate  # which of them are drawn together

    @property
    def classes(self) -> list[str]:
        """Return the classes of both, those of A first."""
        return list(dict.fromkeys((*self.a.classes, *self.b.classes)))

    def find_setbacks(self, better: str) -> Setbacks | None:
        """Return the slices on which the `better` one, A or B, is worse; None if no facts of examples were kept."""
        one, other = (self.a, self.b) if better == "A" else (self.b, self.a)
        return find_setbacks(one, other, self.names, self.grouped) if has_facts(other) else None


def match_runs(a: Contender, b: Contender, files: Sequence[Path], group: str | None = None) -> MatchedExamples:
    """Read both runs' examples, which are in `files`. `group` is a pattern, in place of the one that both were
    evaluated with."""
    one, other = (Judged.read(file) for file in files)
    names = match_examples(one, other, (a.label, b.label))
    return MatchedExamples(one, other, names, _choose_groups(a, b, group))


def judge(
    a: Contender, b: Contender, matched: MatchedExamples, *, metric: str | None, samples: int
) -> ComparisonVerdict:
    """Compare two runs by their examples."""
    one, other, names = matched.a, matched.b, matched.names
    groups = matched.grouped.groups_of([file for file, _ in names])
    if (number := len(set(groups))) < LEAST:
        least = f"{LEAST} groups of examples or more to be told apart"
        raise DataError(f"{a.label} and {b.label}: must be judged on {least}, got {number}")
    classes = matched.classes
    counts = {
        label: len({at for name, at in zip(names, groups, strict=True) if label in one.labels(name)})
        for label in classes
    }
    enough = {label for label, count in counts.items() if count >= LEAST}
    differences = compare_scores(one.score(names, classes), other.score(names, classes), groups, samples, enough)
    chosen = metric or next((name for name in (*BY_HEADLINE, *differences.numbers) if name in differences.numbers), "")
    if chosen not in differences.numbers:
        raise WorkspaceError(
            f"--metric: must be a number that examples give, got {chosen!r}; {choices(chosen, differences.numbers)}"
        )
    few = tuple(label for label, count in counts.items() if 0 < count < LEAST)
    value = differences.numbers[chosen].value
    setbacks = matched.find_setbacks("A" if value < 0 else "B") if value else None
    return ComparisonVerdict(a, b, chosen, differences, few, setbacks)


def describe_setbacks(a: Contender, b: Contender, files: Sequence[Path]) -> list[str]:
    """Return lines on which slices the better of two runs is worse; none where their examples are not the same."""
    value, other_value = (one.number(one.headline) if one.headline else None for one in (a, b))
    if value is None or other_value is None or a.headline != b.headline or value.value == other_value.value:
        return []
    try:
        matched = match_runs(a, b, files)
    except (DataError, WorkspaceError):  # `bakeoff better` says what is wrong
        return []
    is_a = value.value > other_value.value
    setbacks = matched.find_setbacks("A" if is_a else "B")
    called = (a.short, b.short) if is_a else (b.short, a.short)
    return setbacks.describe(*called) if setbacks else [UNKNOWN]


def _choose_groups(a: Contender, b: Contender, pattern: str | None) -> Evaluate:
    if pattern is None:
        own = [_pattern(contender) for contender in (a, b)]
        if own[0] != own[1]:
            raise WorkspaceError(
                f"{GROUP}: must be the same for both, got {own[0]!r} of {a.label} and {own[1]!r} of {b.label}; "
                "--group says which examples are drawn together"
            )
        pattern = own[0]
    try:
        return Evaluate(group=pattern)
    except OutOfRange as error:
        raise WorkspaceError(f"--group: {error.reason}") from None


def _pattern(contender: Contender) -> str | None:
    text = contender.params.get(GROUP)
    return None if text in (None, "None") else text


def _tree(difference: PairedDifference) -> dict[str, Any]:
    return {"difference": difference.value} | asdict(difference)
