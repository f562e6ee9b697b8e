"""The values of a key -> places from 0, at the bottom, to 1: names evenly apart, numbers by size or its logarithm."""

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ABSENT = "–"  # of a kind that has no such key
NOTHING = "None"  # as params have it
LOGARITHMIC_FROM = 20.0  # the largest so many times the smallest
CROWDED = 0.25  # the lower quarter of an axis that is not logarithmic: half of the numbers would be there
FLOOR = 0.12  # of a numeric axis below which stands what is no number
MOST_TICKS = 8
LEAST_APART = 0.055  # ticks that are closer are left out


@dataclass(frozen=True)
class Axis:
    key: str
    places: dict[str, float]  # of each value that is there
    ticks: tuple[tuple[float, str], ...]
    is_numeric: bool
    is_logarithmic: bool = False

    @classmethod
    def of(cls, key: str, values: Sequence[str | None]) -> "Axis":
        words = [ABSENT if value is None else value for value in values]
        numbers = {word: number for word in dict.fromkeys(words) if (number := as_number(word)) is not None}
        others = sorted({word for word in words if word not in numbers})
        if not numbers or set(others) - {ABSENT, NOTHING}:
            return cls._named(key, words)
        low, high = min(numbers.values()), max(numbers.values())
        is_logarithmic = (
            low > 0
            and high / low > LOGARITHMIC_FROM
            and statistics.median(numbers.values()) - low < CROWDED * (high - low)
        )
        scale = math.log10 if is_logarithmic else float
        floor = FLOOR * len(others)
        place = _between(scale, low, high, floor)
        places = {word: place(number) for word, number in numbers.items()}
        places |= {word: FLOOR * at for at, word in enumerate(others)}
        ticks = _ticks({word: places[word] for word in numbers}, low, high, place, logarithmic=is_logarithmic)
        ticks += [(places[word], shown(word)) for word in others]
        return cls(key, places, tuple(ticks), True, is_logarithmic)

    @classmethod
    def _named(cls, key: str, words: Sequence[str]) -> "Axis":
        names = sorted(set(words), key=_natural, reverse=True)  # the first on top
        places = {word: at / (len(names) - 1) if len(names) > 1 else 0.5 for at, word in enumerate(names)}
        every = math.ceil(len(names) * LEAST_APART)
        ticks = [(places[word], shown(word)) for word in names[:: max(1, every)]]
        return cls(key, places, tuple(ticks), False)

    def place(self, value: str | None) -> float:
        return self.places[ABSENT if value is None else value]


def metric_axis(key: str, numbers: Sequence[float]) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Where a number stands, and a few round ones."""
    low, high = min(numbers), max(numbers)
    place = _between(float, low, high, 0.0)
    return place, [(place(tick), f"{tick:.6g}") for tick in round_numbers(low, high)]


def as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def shown(word: str) -> str:
    return "none" if word == NOTHING else word


def round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """Between both; 1, 2 or 5 times a power of ten apart."""
    if high <= low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    step = next(power * factor for factor in (1, 2, 5, 10) if (high - low) / (power * factor) <= about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _between(scale: Callable[[float], float], low: float, high: float, floor: float) -> Callable[[float], float]:
    start, end = scale(low), scale(high)
    if end <= start:
        return lambda number: floor + (1 - floor) / 2
    return lambda number: floor + (1 - floor) * (scale(number) - start) / (end - start)


def _ticks(
    own: dict[str, float], low: float, high: float, place: Callable[[float], float], *, logarithmic: bool
) -> list[tuple[float, str]]:
    """At the values themselves, if they are few, else at round numbers."""
    if len(own) <= MOST_TICKS:
        marks = sorted((where, word) for word, where in own.items())
    elif logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1, 2, 5) if len(powers) <= 4 else (1,)
        numbers = [step * 10.0**power for power in powers for step in steps]
        marks = [(place(number), f"{number:g}") for number in numbers if low <= number <= high]
    else:
        marks = [(place(number), f"{number:.6g}") for number in round_numbers(low, high)]
    kept: list[tuple[float, str]] = []
    for where, word in marks:
        if not kept or where - kept[-1][0] >= LEAST_APART:
            kept.append((where, word))
    return kept


def _natural(text: str) -> list[tuple[int, float, str]]:
    """s9 before s10; what a kind has not comes last."""
    if text == ABSENT:
        return [(2, 0.0, "")]
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in re.split(r"(\d+)", text) if part]
