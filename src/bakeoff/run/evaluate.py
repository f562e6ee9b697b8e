"""Settings of evaluate: `conf/evaluate/`."""

import re
from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require


@dataclass(frozen=True)
class Evaluate:
    weights: Literal["best", "final"] = "best"  # best: by the task's headline metric on the way
    batch_size: int = 32
    interval_samples: int = 1000  # drawings of the examples, from which intervals come; 0: no intervals
    group: str | None = None  # a pattern on the name, with one group in brackets: what it finds is drawn together
    report_examples: int = 12  # of the best and of the worst, in report.html
    pictures: int = 12  # validation examples drawn with what was found
    picture_min_score: float = 0.5

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        samples = self.interval_samples
        require(samples == 0 or 100 <= samples <= 100_000, "interval_samples", samples, "0 or between 100 and 100,000")
        if self.group is not None:
            require(_has_one_group(self.group), "group", self.group, "a regular expression with one (group)")
        require(0 <= self.report_examples <= 100, "report_examples", self.report_examples, "between 0 and 100")
        require(0 <= self.pictures <= 200, "pictures", self.pictures, "between 0 and 200")
        require(0 <= self.picture_min_score <= 1, "picture_min_score", self.picture_min_score, "between 0 and 1")

    def group_of(self, name: str) -> str:
        """A name in which the pattern finds nothing is a group of its own."""
        found = re.search(self.group, name) if self.group else None
        return found[1] if found and found[1] is not None else name


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False
