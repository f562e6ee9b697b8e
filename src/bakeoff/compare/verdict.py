"""Two runs -> whether the second is better than the first, as far as their common examples show it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.compare.contender import Contender
from bakeoff.compare.examples import Judged, match_examples
from bakeoff.compare.paired import Difference, Differences, compare_scores
from bakeoff.errors import DataError, OutOfRange, WorkspaceError, choices
from bakeoff.metrics.catalogue import BY_HEADLINE
from bakeoff.run.options import Evaluate

LEAST = 10  # groups of examples: fewer drawings of them tell too little of others like them
GROUP = "evaluate.group"
VERSION = 1


@dataclass(frozen=True)
class Verdict:
    a: Contender
    b: Contender
    metric: str
    found: Differences
    too_few: tuple[str, ...]  # classes in fewer groups than are needed

    @property
    def difference(self) -> Difference:
        return self.found.numbers[self.metric]

    @property
    def by_class(self) -> dict[str, Difference]:
        return dict(self.found.by_class.get(self.metric, {}))

    @property
    def tree(self) -> dict[str, Any]:
        return {
            "version": VERSION, "a": self.a.run_id, "b": self.b.run_id, "metric": self.metric,
            "better": {"A": self.a.run_id, "B": self.b.run_id}.get(self.difference.better or ""),
            "examples": self.found.examples, "groups": self.found.groups, "samples": self.found.samples,
            "numbers": {name: _tree(one) for name, one in self.found.numbers.items()},
            "by_class": {label: _tree(one) for label, one in self.by_class.items()},
            "too_few_examples": list(self.too_few),
        }  # fmt: skip


def judge(
    a: Contender, b: Contender, files: tuple[Path, Path], *, metric: str | None, group: str | None, samples: int
) -> Verdict:
    """Compare two runs by their examples, which are in `files`. `group` is a pattern, in place of the one that both
    were evaluated with."""
    one, other = (Judged.read(file) for file in files)
    names = match_examples(one, other, (a.label, b.label))
    grouped = _choose_groups(a, b, group)
    groups = [grouped.group_of(file) for file, _ in names]
    if (number := len(set(groups))) < LEAST:
        least = f"{LEAST} groups of examples or more to be told apart"
        raise DataError(f"{a.label} and {b.label}: must be judged on {least}, got {number}")
    classes = [*one.classes, *(label for label in other.classes if label not in one.classes)]
    counts = {
        label: len({at for name, at in zip(names, groups, strict=True) if label in one.labels(name)})
        for label in classes
    }
    enough = {label for label, count in counts.items() if count >= LEAST}
    found = compare_scores(one.score(names, classes), other.score(names, classes), groups, samples, enough)
    chosen = metric or next((name for name in (*BY_HEADLINE, *found.numbers) if name in found.numbers), "")
    if chosen not in found.numbers:
        raise WorkspaceError(
            f"--metric: must be a number that examples give, got {chosen!r}; {choices(chosen, found.numbers)}"
        )
    return Verdict(a, b, chosen, found, tuple(label for label, count in counts.items() if 0 < count < LEAST))


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


def _tree(difference: Difference) -> dict[str, Any]:
    return {"difference": difference.value} | asdict(difference)
