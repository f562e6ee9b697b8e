"""Numbers and tables of an evaluation -> its mistakes, each with what it costs, the costliest first.

Mistake("wrong class", 58, 0.112, 0.36, term="Cls", …): without such detections mAP_50 would be 0.112 higher.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.evaluation.metric_meanings import ERROR_MEANINGS
from bakeoff.foundation.formatting import format_count

MOST = 12  # rows of a table
TERMS = {  # what TIDE calls the kinds
    "missed": "Miss", "duplicate": "Dupe", "wrong_class": "Cls", "badly_placed": "Loc", "wrong_class_and_place": "Both",
    "background": "Bkg",
}  # fmt: skip
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Mistake:
    name: str
    count: int
    cost: float  # how much higher the number would be without it
    share: float  # of all errors
    term: str = ""  # the usual name of the error
    meaning: str = ""


def list_mistakes(numbers: Mapping[str, Any], tables: Tables) -> list[Mistake]:
    """Of detections every kind of error, by what it takes from mAP_50; of one label each two classes that were
    confused, by what they take from the accuracy; of several labels what was missed and what was given wrongly."""
    if "lost_mAP_50" in numbers:
        mistakes = _errors_of_boxes(numbers["errors"], numbers["lost_mAP_50"])
    elif "accuracy" in numbers:
        rows = tables.get("confusion", ())
        pairs = Counter((row["actual"], row["predicted"]) for row in rows if row["actual"] != row["predicted"])
        mistakes = _shares({f"{true} taken for {given}": count for (true, given), count in pairs.items()}, len(rows))
    else:
        decisions = sum(row["examples"] for row in tables.get("calibration", ()))  # every label of every example
        mistakes = _shares({row["kind"]: row["count"] for row in tables.get("errors", ())}, decisions)
    return sorted(mistakes, key=lambda one: (-one.cost, -one.count, one.name))[:MOST]


def describe_costliest(mistakes: Sequence[Mistake], metric: str, value: float | None) -> str:
    """Name the mistake that costs most, and the most frequent one if that is another."""
    worst = mistakes[0] if mistakes else None
    if worst is None or not worst.count:
        return ""
    often = f"{format_count(worst.count, 'time')}, {worst.share:.0%} of all errors"
    meaning = f": {worst.meaning}" if worst.meaning else ""
    sentence = f"The mistake that costs most is {worst.name} ({often}){meaning}."
    if value is not None:
        sentence += f" Without it {metric} would be {value + worst.cost:.3f} instead of {value:.3f}."
    first = max(mistakes, key=lambda one: one.count)
    if first.count > worst.count:
        sentence += f" The most frequent is {first.name} ({first.count:,} times), which costs {first.cost:.3f}."
    return sentence


def _errors_of_boxes(counts: Mapping[str, int], lost: Mapping[str, float]) -> list[Mistake]:
    total = max(1, sum(counts.values()))
    return [
        Mistake(kind.replace("_", " "), count, lost[kind], count / total, TERMS[kind], ERROR_MEANINGS[kind])
        for kind, count in counts.items()
    ]


def _shares(counts: Mapping[str, int], decisions: int) -> list[Mistake]:
    total = max(1, sum(counts.values()))
    return [Mistake(name, count, count / max(1, decisions), count / total) for name, count in counts.items()]
