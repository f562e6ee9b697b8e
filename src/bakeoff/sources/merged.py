"""Several datasets as one. Only if their labels are the same, since `ballon` beside `balloon` is no third class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from bakeoff.errors import DataError, require
from bakeoff.sources.paths import shown


@dataclass(frozen=True)
class Merged:
    merge: tuple[str, ...]  # options of conf/data/, each with its own split, limits and sizes

    def __post_init__(self) -> None:
        require(len(self.merge) >= 2, "merge", list(self.merge), "at least two options of conf/data/")
        require(len(set(self.merge)) == len(self.merge), "merge", list(self.merge), "different options")


def require_same_labels(labels: Mapping[str, Sequence[str]]) -> None:
    """`labels` by the name of the dataset. Raises DataError with what each has and another lacks."""
    (first, mine), *others = labels.items()
    for other, theirs in others:
        if set(mine) == set(theirs):
            continue
        only_mine, only_theirs = sorted(set(mine) - set(theirs)), sorted(set(theirs) - set(mine))
        lines = [f"data.merge: {first} and {other} must have the same labels"]
        lines += [f"  only {first} has {_beside(label, only_theirs, other)}" for label in only_mine]
        lines += [f"  only {other} has {_beside(label, only_mine, first)}" for label in only_theirs]
        lines.append("  correct the labels, or name both datasets' labels in one labels file (data.labels)")
        raise DataError("\n".join(lines))


def _beside(label: str, others: list[str], whose: str) -> str:
    near = get_close_matches(label, others, n=1, cutoff=0.6)
    return f"{shown(label)!r}" + (f"; nearest in {whose}: {shown(near[0])!r}" if near else "")
