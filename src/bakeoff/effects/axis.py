"""The values of a key -> places from 0, at the bottom, to 1, and groups of points whose means can be compared.

Names stand evenly apart, numbers by their size or its logarithm; a group has one value, or numbers near each other.
"""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.effects.trial import Trial
from bakeoff.pages.svg import Scale, Tick

ABSENT = "–"  # of a kind that has no such key
NOTHING = "None"  # as params have it
LOGARITHMIC_FROM = 20.0  # the largest so many times the smallest
CROWDED = 0.25  # the lower quarter of an axis that is not logarithmic: half of the numbers would be there
FLOOR = 0.12  # of a numeric axis below which stands what is no number
MOST_TICKS = 8
LEAST_APART = 0.055  # ticks that are closer are left out
MOST_VALUES = 6  # of numbers; more than this are put together
MOST_BINS, POINTS_OF_A_BIN = 5, 4


@dataclass(frozen=True)
class Axis:
    key: str
    places: dict[str, float]  # of each value that is there
    ticks: tuple[Tick, ...]
    is_numeric: bool
    is_logarithmic: bool = False

    @classmethod
    def of(cls, key: str, values: Sequence[str | None]) -> "Axis":
        words = [ABSENT if value is None else value for value in values]
        numbers = {word: number for word in dict.fromkeys(words) if (number := as_number(word)) is not None}
        others = sorted({word for word in words if word not in numbers})
        if not numbers or set(others) - {ABSENT, NOTHING}:
            return cls._of_names(key, words)
        low, high = min(numbers.values()), max(numbers.values())
        is_crowded = statistics.median(numbers.values()) - low < CROWDED * (high - low)
        scale = Scale(low, high, low > 0 and high / low > LOGARITHMIC_FROM and is_crowded)
        floor = FLOOR * len(others)

        def place(number: float) -> float:
            return floor + (1 - floor) * scale.share(number)

        places = {word: place(number) for word, number in numbers.items()}
        places |= {word: FLOOR * at for at, word in enumerate(others)}
        marks = sorted((places[word], word) for word in numbers)
        if len(marks) > MOST_TICKS:
            marks = [(place(number), f"{number:.6g}") for number in scale.round_numbers()]
        ticks = [*_thin_out(marks), *((places[word], name_value(word)) for word in others)]
        return cls(key, places, tuple(ticks), True, scale.is_logarithmic)

    @classmethod
    def _of_names(cls, key: str, words: Sequence[str]) -> "Axis":
        names = sorted(set(words), key=_natural, reverse=True)  # the first on top
        places = {word: at / (len(names) - 1) if len(names) > 1 else 0.5 for at, word in enumerate(names)}
        every = math.ceil(len(names) * LEAST_APART)
        ticks = [(places[word], name_value(word)) for word in names[:: max(1, every)]]
        return cls(key, places, tuple(ticks), False)

    def place(self, value: str | None) -> float:
        return self.places[ABSENT if value is None else value]


@dataclass(frozen=True)
class Group:
    name: str
    members: tuple[int, ...]  # places in the list of points
    place: float  # on the key's axis
    mean: float
    spread: float | None  # the standard deviation over its points


def as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def name_value(word: str) -> str:
    return "none" if word == NOTHING else word


def group_points(axis: Axis, points: Sequence[Trial]) -> list[Group]:
    """From the lowest place up. Every point is in one of them."""
    members: dict[str | None, list[int]] = {}
    for number, point in enumerate(points):
        members.setdefault(point.values.get(axis.key), []).append(number)
    numbers = {value: found for value in members if value and (found := as_number(value)) is not None}
    if not axis.is_numeric or len(numbers) <= MOST_VALUES:
        numbers = {}
    parts = [
        ("without" if value is None else name_value(value), own)
        for value, own in members.items() if value not in numbers
    ]  # fmt: skip
    parts += _bin(sorted((number, place) for value, number in numbers.items() for place in members[value]))
    return sorted((_group(name, own, axis, points) for name, own in parts), key=lambda group: group.place)


def _bin(in_order: Sequence[tuple[float, int]]) -> list[tuple[str, list[int]]]:
    """As many points in each as there can be; equal numbers stay together."""
    number = max(2, min(MOST_BINS, len(in_order) // POINTS_OF_A_BIN))
    bins: list[list[tuple[float, int]]] = []
    for at, (value, place) in enumerate(in_order):
        is_new = at >= len(in_order) * len(bins) / number
        if not bins or (is_new and bins[-1][-1][0] != value):
            bins.append([])
        bins[-1].append((value, place))
    return [
        (f"{part[0][0]:.3g} to {part[-1][0]:.3g}" if part[0][0] != part[-1][0] else f"{part[0][0]:.3g}",
         [place for _, place in part])
        for part in bins
    ]  # fmt: skip


def _group(name: str, members: list[int], axis: Axis, points: Sequence[Trial]) -> Group:
    numbers = [number for place in members if (number := points[place].number) is not None]
    place = statistics.fmean(axis.place(points[member].values.get(axis.key)) for member in members)
    spread = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Group(name, tuple(members), place, math.fsum(numbers) / len(numbers), spread)


def _thin_out(ticks: Sequence[Tick]) -> list[Tick]:
    kept: list[Tick] = []
    for share, word in ticks:
        if not kept or share - kept[-1][0] >= LEAST_APART:
            kept.append((share, word))
    return kept


def _natural(text: str) -> list[tuple[int, float, str]]:
    """s9 before s10; what a kind has not comes last."""
    if text == ABSENT:
        return [(2, 0.0, "")]
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in re.split(r"(\d+)", text) if part]
