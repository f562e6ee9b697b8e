"""Settings of export: `conf/export/`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Export:
    weights: Literal["best", "final"] = "best"
