"""Settings of evaluate: `conf/evaluate/`."""

from dataclasses import dataclass
from typing import Literal

from bakeoff.errors import require


@dataclass(frozen=True)
class Evaluate:
    weights: Literal["best", "final"] = "best"  # best: by the task's headline metric on the way
    batch_size: int = 32
    pictures: int = 12  # validation examples drawn with what was found
    picture_min_score: float = 0.5

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        require(0 <= self.pictures <= 200, "pictures", self.pictures, "between 0 and 200")
        require(0 <= self.picture_min_score <= 1, "picture_min_score", self.picture_min_score, "between 0 and 1")
