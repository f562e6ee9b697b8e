"""Trees of plain values, flat and side by side: `lr.peak`, `train.phases[0].name`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    key: str
    one: Any
    other: Any


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every value by its full key; a list of plain values is one value."""
    rows: dict[str, Any] = {}
    for key, value in tree.items():
        rows |= _flat(value, f"{prefix}{key}")
    return rows


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    first, second = flat(one), flat(other)
    keys = [*first, *(key for key in second if key not in first)]
    pairs = [Difference(key, first.get(key, ABSENT), second.get(key, ABSENT)) for key in keys]
    return [pair for pair in pairs if pair.one != pair.other or type(pair.one) is not type(pair.other)]


def _flat(value: Any, key: str) -> dict[str, Any]:
    if isinstance(value, Mapping) and value:
        return flat(value, f"{key}.")
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        rows: dict[str, Any] = {}
        for number, item in enumerate(value):
            rows |= _flat(item, f"{key}[{number}]")
        return rows
    return {key: value}
