"""What one word of a search stands for, and how a value of it is written, and read back to the bit."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Value = str | int | float


@dataclass(frozen=True)
class _Counted:
    """Of so many values, as they are written."""

    key: str
    values: tuple[str, ...]

    @property
    def size(self) -> float:
        return len(self.values)


class Choice(_Counted):
    """Values without an order."""

    @property
    def corners(self) -> Sequence[Value]:
        return self.values

    @property
    def middle(self) -> Value:
        return self.values[0]

    def all(self) -> Iterable[Value]:
        return self.values

    def text(self, value: Value) -> str:
        return str(value)

    def read(self, text: str) -> Value:
        return text

    def __str__(self) -> str:
        return ", ".join(self.values)


class Steps(_Counted):
    """The values of a range, each by its place, so that it is written as a grid would write it."""

    @property
    def corners(self) -> Sequence[Value]:
        return (0, len(self.values) - 1)

    @property
    def middle(self) -> Value:
        return len(self.values) // 2

    def all(self) -> Iterable[Value]:
        return range(len(self.values))

    def text(self, value: Value) -> str:
        return self.values[int(value)]

    def read(self, text: str) -> Value:
        return self.values.index(text)

    def __str__(self) -> str:
        return f"{self.values[0]} to {self.values[-1]}, {len(self.values)} values"


@dataclass(frozen=True)
class Interval:
    """With both ends; `whole`: of integers."""

    key: str
    low: float
    high: float
    log: bool
    whole: bool

    @property
    def size(self) -> float:
        return self.high - self.low + 1 if self.whole else math.inf

    @property
    def corners(self) -> Sequence[Value]:
        return (self.low, self.high)

    @property
    def middle(self) -> Value:
        """Or about there, by a number that is easy to read."""
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        if self.whole:
            return round(middle)
        plain = float(f"{middle:.3g}")
        return plain if self.low <= plain <= self.high else middle

    def all(self) -> Iterable[Value]:
        return range(int(self.low), int(self.high) + 1)

    def text(self, value: Value) -> str:
        return repr(value)

    def read(self, text: str) -> Value:
        return int(text) if self.whole else float(text)

    def __str__(self) -> str:
        how = [word for word, is_so in (("whole numbers", self.whole), ("logarithmic", self.log)) if is_so]
        return ", ".join([f"{self.text(self.low)} to {self.text(self.high)}", *how])


Axis = Choice | Steps | Interval
