"""Numbers of a run by their names.

mAP_50 stands for evaluation/mAP_50, its interval for evaluation/interval.mAP_50.low and .high
"""

from collections.abc import Mapping
from dataclasses import dataclass

EVALUATION, VALIDATION = "evaluation/", "validation/"


@dataclass(frozen=True)
class Number:
    value: float
    low: float | None = None  # of the interval, where there is one
    high: float | None = None
    spread: float | None = None  # of several seeds, where there are several


def number_of(metrics: Mapping[str, float], name: str) -> Number | None:
    """`name` in full, or as metrics.json has it."""
    for full in (name, f"{EVALUATION}{name}"):
        value = metrics.get(full)
        if value is not None and value == value:
            ends = f"{EVALUATION}interval.{full.removeprefix(EVALUATION)}"
            return Number(value, metrics.get(f"{ends}.low"), metrics.get(f"{ends}.high"))
    return None


def names_in(metrics: Mapping[str, float]) -> list[str]:
    """As a user writes them: those of the evaluation by their short names."""
    own = (name for name in metrics if not name.startswith((f"{EVALUATION}interval.", "system/")))
    return [name.removeprefix(EVALUATION) for name in own]
