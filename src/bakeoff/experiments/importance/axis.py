"""The values of a key -> places on an axis, and groups of configurations whose means can be compared.

Places go from 0, at the bottom, to 1. Names stand evenly apart, numbers by their size or its logarithm. A group has
one value, or numbers near each other.
"""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.experiments.importance.trial import Trial
from bakeoff.foundation.formatting import as_number
from bakeoff.foundation.html.svg import Scale, Tick

ABSENT = "–"  # the value of a kind that has no such key
NOTHING = "None"  # how parameters write that there is no value
LOGARITHMIC_FROM = 20.0  # an axis may be logarithmic if the largest is so many times the smallest
CROWDED = 0.25  # and if half of the numbers would stand in this share of the axis, at its lower end
FLOOR = 0.12  # the share of a numeric axis, at its lower end, in which each value that is no number stands
MOST_TICKS = 8
LEAST_APART = 0.055  # ticks that are closer are left out
MOST_VALUES = 6  # more numbers than this are put together in ranges
MOST_BINS, CONFIGURATIONS_PER_BIN = 5, 4


@dataclass(frozen=True)
class Axis:
    key: str
    places: dict[str, float]  # the place of each value
    ticks: tuple[Tick, ...]
    is_numeric: bool
    is_logarithmic: bool = False

    @classmethod
    def from_values(cls, key: str, values: Sequence[str | None]) -> "Axis":
        texts = [ABSENT if value is None else value for value in values]
        numbers = {text: number for text in dict.fromkeys(texts) if (number := find_number(text)) is not None}
        others = sorted({text for text in texts if text not in numbers})
        if not numbers or set(others) - {ABSENT, NOTHING}:
            return cls._from_names(key, texts)
        low, high = min(numbers.values()), max(numbers.values())
        is_crowded = statistics.median(numbers.values()) - low < CROWDED * (high - low)
        scale = Scale(low, high, low > 0 and high / low > LOGARITHMIC_FROM and is_crowded)
        floor = FLOOR * len(others)

        def place(number: float) -> float:
            return floor + (1 - floor) * scale.share(number)

        places = {text: place(number) for text, number in numbers.items()}
        places |= {text: FLOOR * at for at, text in enumerate(others)}
        marks = sorted((places[text], text) for text in numbers)
        if len(marks) > MOST_TICKS:
            marks = [(place(number), f"{number:.6g}") for number in scale.round_numbers()]
        ticks = [*_thin_out(marks), *((places[text], name_value(text)) for text in others)]
        return cls(key, places, tuple(ticks), True, scale.is_logarithmic)

    @classmethod
    def _from_names(cls, key: str, texts: Sequence[str]) -> "Axis":
        names = sorted(set(texts), key=_natural_order, reverse=True)  # the first on top
        places = {text: at / (len(names) - 1) if len(names) > 1 else 0.5 for at, text in enumerate(names)}
        every = math.ceil(len(names) * LEAST_APART)
        ticks = [(places[text], name_value(text)) for text in names[:: max(1, every)]]
        return cls(key, places, tuple(ticks), False)

    def place(self, value: str | None) -> float:
        return self.places[ABSENT if value is None else value]


@dataclass(frozen=True)
class Group:
    name: str
    members: tuple[int, ...]  # indices in the list of configurations
    place: float  # on the key's axis
    mean: float
    spread: float | None  # the standard deviation over its configurations


def find_number(text: str) -> float | None:
    """Return the number that a text stands for, if that has a place on an axis."""
    number = as_number(text)
    return number if number is not None and math.isfinite(number) else None


def name_value(value: str) -> str:
    return "none" if value == NOTHING else value


def group_configurations(axis: Axis, configurations: Sequence[Trial]) -> list[Group]:
    """Return the groups, the lowest place first. Every configuration is in one of them."""
    members: dict[str | None, list[int]] = {}
    for index, configuration in enumerate(configurations):
        members.setdefault(configuration.values.get(axis.key), []).append(index)
    numbers = {value: as_float for value in members if value and (as_float := find_number(value)) is not None}
    if not axis.is_numeric or len(numbers) <= MOST_VALUES:
        numbers = {}
    named = [
        ("without" if value is None else name_value(value), indices)
        for value, indices in members.items()
        if value not in numbers
    ]
    named += _bin(sorted((number, index) for value, number in numbers.items() for index in members[value]))
    groups = (_make_group(name, indices, axis, configurations) for name, indices in named)
    return sorted(groups, key=lambda group: group.place)


def _bin(in_order: Sequence[tuple[float, int]]) -> list[tuple[str, list[int]]]:
    """Return ranges with about as many configurations in each. Equal numbers stay together."""
    number = max(2, min(MOST_BINS, len(in_order) // CONFIGURATIONS_PER_BIN))
    bins: list[list[tuple[float, int]]] = []
    for at, (value, index) in enumerate(in_order):
        is_new = at >= len(in_order) * len(bins) / number
        if not bins or (is_new and bins[-1][-1][0] != value):
            bins.append([])
        bins[-1].append((value, index))
    return [
        (
            f"{part[0][0]:.3g} to {part[-1][0]:.3g}" if part[0][0] != part[-1][0] else f"{part[0][0]:.3g}",
            [index for _, index in part],
        )
        for part in bins
    ]


def _make_group(name: str, members: list[int], axis: Axis, configurations: Sequence[Trial]) -> Group:
    numbers = [number for index in members if (number := configurations[index].number) is not None]
    place = statistics.fmean(axis.place(configurations[member].values.get(axis.key)) for member in members)
    spread = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Group(name, tuple(members), place, math.fsum(numbers) / len(numbers), spread)


def _thin_out(ticks: Sequence[Tick]) -> list[Tick]:
    kept: list[Tick] = []
    for share, text in ticks:
        if not kept or share - kept[-1][0] >= LEAST_APART:
            kept.append((share, text))
    return kept


def _natural_order(text: str) -> list[tuple[int, float, str]]:
    """Return a key to sort by: s9 comes before s10, and the absent value last."""
    if text == ABSENT:
        return [(2, 0.0, "")]
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in re.split(r"(\d+)", text) if part]
