"""Facts of examples -> slices: the examples whose brightness is under 63, those of film 2, those with 5 objects.

A number is cut at its quantiles, so slices of one fact may lie in each other; the dark tenth is in the dark quarter.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bakeoff.evaluation.example_facts import Fact, Facts

FEWEST = 10  # examples of a slice, and outside of it
LEAST = 40  # examples of an evaluation that can be cut
FEW_VALUES = 6  # of a number that has no more, each is a slice
MOST_VALUES = 50  # of a text; the most frequent
TENTH, QUARTER, HALF = 0.1, 0.25, 0.5


@dataclass(frozen=True)
class Slice:
    fact: str
    range_text: str  # "under 63.1"
    members: np.ndarray  # (examples,) bool

    @property
    def name(self) -> str:
        return f"{self.fact} {self.range_text}"


def cut_slices(facts: Facts) -> list[Slice]:
    """Return slices of enough examples, none with the very examples of one before it."""
    slices: list[Slice] = []
    contents: set[bytes] = set()
    for fact, values in facts.items():
        for range_text, members in _cut(values):
            count, content = int(members.sum()), members.tobytes()
            if min(count, len(members) - count) >= FEWEST and content not in contents:
                contents.add(content)
                slices.append(Slice(fact, range_text, members))
    return slices


def _cut(values: Fact) -> Iterator[tuple[str, np.ndarray]]:
    if values.dtype.kind != "f":
        for text, _ in Counter(text for text in values.tolist() if text).most_common(MOST_VALUES):
            yield text, values == text
        return
    numbers = values[~np.isnan(values)]
    distinct = np.unique(numbers)
    if len(distinct) <= FEW_VALUES:
        for value in distinct.tolist():
            yield _write(value), values == value
        return
    tenth, quarter, half, upper, top = np.quantile(numbers, [TENTH, QUARTER, HALF, 1 - QUARTER, 1 - TENTH]).tolist()
    yield f"under {_write(quarter)}", values < quarter
    yield f"under {_write(tenth)}", values < tenth
    yield f"{_write(quarter)} to {_write(half)}", (values >= quarter) & (values < half)
    yield f"{_write(half)} to {_write(upper)}", (values >= half) & (values < upper)
    yield f"from {_write(upper)} on", values >= upper
    yield f"from {_write(top)} on", values >= top


def _write(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
