"""Names of numbers, and which way each is better.

mAP_50 stands for evaluation/mAP_50, its interval for evaluation/interval.mAP_50.low and .high
"""

from collections.abc import Mapping
from dataclasses import dataclass

EVALUATION, VALIDATION, EXPORT = "evaluation/", "validation/", "export/"
HEADLINES = ("mAP_50", "mean_average_precision", "accuracy")  # of which a task has one
BESIDE = {"mAP_50": ("mAP",), "mean_average_precision": ("f1",), "accuracy": ("macro_f1",)}  # shown unless others are
LOWER_IS_BETTER = (
    "loss", "ece", "errors", "lost_mAP_50", "bytes", "seconds", "memory", "latency", "parameters", "drop",
)  # fmt: skip
NEITHER = (
    "threshold",
    "class_threshold",
    "best_threshold",
    "learning_rate",
    "phase",
    "bad_records",
    "calls",
    "threads",
)


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


def is_higher_better(name: str) -> bool | None:
    """None of a number that is neither good nor bad."""
    first, _, rest = name.rpartition("/")[2].partition(".")
    words = rest if rest and name.startswith(EXPORT) else first  # export/dynamic.latency_ms, AP_50.cat
    if words in NEITHER:
        return None
    lower = any(words == word or words.startswith(f"{word}_") or words.endswith(f"_{word}") for word in LOWER_IS_BETTER)
    return not lower
