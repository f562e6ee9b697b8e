"""The points of a key -> groups whose means can be compared: of each value, or of numbers that lie near each other."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.effects.axis import Axis, as_number, shown
from bakeoff.effects.trial import Trial

MOST_VALUES = 6  # more numbers than this are put together
MOST_BINS, POINTS_OF_A_BIN = 5, 4


@dataclass(frozen=True)
class Group:
    name: str
    members: tuple[int, ...]  # places in the list of points
    place: float  # on the key's axis
    mean: float
    spread: float | None  # the standard deviation over its points


def groups_of(key: str, axis: Axis, points: Sequence[Trial]) -> list[Group]:
    """From the lowest place up. Every point is in one of them."""
    members: dict[str | None, list[int]] = {}
    for number, point in enumerate(points):
        members.setdefault(point.values.get(key), []).append(number)
    numbers = {value: found for value in members if value and (found := as_number(value)) is not None}
    if not axis.is_numeric or len(numbers) <= MOST_VALUES:
        parts = [(_word(value), own) for value, own in members.items()]
    else:
        parts = [(_word(value), own) for value, own in members.items() if value not in numbers]
        in_order = sorted(
            (number, place) for value, number in numbers.items() for place in members[value]
        )  # fmt: skip
        parts += _bins(in_order)
    return sorted((_group(name, own, key, axis, points) for name, own in parts), key=lambda group: group.place)


def _bins(in_order: Sequence[tuple[float, int]]) -> list[tuple[str, list[int]]]:
    """As many in each as there can be; equal numbers stay together."""
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


def _group(name: str, members: list[int], key: str, axis: Axis, points: Sequence[Trial]) -> Group:
    numbers = [number for place in members if (number := points[place].number) is not None]
    place = statistics.fmean(axis.place(points[member].values.get(key)) for member in members)
    spread = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Group(name, tuple(members), place, math.fsum(numbers) / len(numbers), spread)


def _word(value: str | None) -> str:
    return "without" if value is None else shown(value)
