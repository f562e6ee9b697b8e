"""`conf/evaluate/`: which weights are evaluated, how intervals are made, what the report shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.foundation.errors import require, require_at_most, require_between
from bakeoff.foundation.name_groups import find_groups, require_one_group


@dataclass(frozen=True)
class Slices:
    """What else is known of the examples, in a CSV with a row for each: it is cut into slices by every column."""

    table: str | None = None  # a CSV in data/raw/
    column: str = "file"  # of it, with the examples' names

    def __post_init__(self) -> None:
        require(self.table is None or bool(self.table.strip()), "table", self.table, "a CSV in data/raw/, or null")


@dataclass(frozen=True)
class Evaluate:
    weights: Literal["best", "final"] = "best"  # best: by the task's headline metric on the way
    batch_size: int = 32
    interval_samples: int = 1000  # bootstrap samples of the examples, from which intervals come; 0: no intervals
    group: str | None = None  # a pattern on the name, with one group in brackets: what it finds is drawn together
    slices: Slices = field(default_factory=Slices)
    report_examples: int = 12  # of the best and of the worst, in report.html
    pictures: int = 12  # validation examples drawn with what was found
    picture_min_score: float = 0.5

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        require_at_most(self, batch_size=100_000)
        samples = self.interval_samples
        require(samples == 0 or 100 <= samples <= 100_000, "interval_samples", samples, "0 or between 100 and 100,000")
        if self.group is not None:
            require_one_group("group", self.group)
        require_between(self, report_examples=(0, 100), pictures=(0, 200), picture_min_score=(0, 1))

    def groups_of(self, names: Sequence[str]) -> list[str]:
        """Return the groups of examples; a name in which the pattern finds nothing is a group of its own."""
        if not self.group:
            return list(names)
        found = find_groups("evaluate.group", self.group, names)
        return [name if group is None else group for name, group in zip(names, found, strict=True)]
