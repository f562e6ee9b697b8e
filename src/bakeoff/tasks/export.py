"""Settings of export: `conf/export/`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Export:
    weights: Literal["best", "final"] = "best"
    num_steps: bool = False  # in pipeline.config: the run's length as a field, not as a comment
    count_background: bool = False  # in pipeline.config: num_classes is one more than labels
