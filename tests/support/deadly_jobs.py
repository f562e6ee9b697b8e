"""Jobs for nodes that end their process, fail, or do their work."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bakeoff.foundation.errors import DataError

AT_HOME = "at home"


def double(numbers: list[int], deadly: int, wrong: int) -> list[int]:
    if deadly in numbers:
        os._exit(1)
    if wrong in numbers:
        raise DataError(f"data/raw/set/{wrong}.jpg: is wrong; mend it")
    return [2 * number for number in numbers]


@dataclass(frozen=True)
class Doubling:
    numbers: list[int]
    deadly: int = -1
    wrong: int = -1

    def near(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return double, (self.numbers, self.deadly, self.wrong)

    def far(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.near()

    def split(self) -> "list[Doubling]":
        return [Doubling([number], self.deadly, self.wrong) for number in self.numbers]

    def finish(self, result: list[int]) -> list[Any]:
        return result

    def do_at_home(self) -> list[Any]:
        return [AT_HOME, *self.numbers]
