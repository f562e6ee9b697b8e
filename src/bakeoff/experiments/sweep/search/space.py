"""Overrides -> the space that a search draws from: a product of axes, beside the overrides that are fixed.

lr.peak=tag(log,interval(0.001,0.3)) seed=range(0,5) lr=cosine,exponential train.steps=500
"""

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep

from bakeoff.config.compose.overrides import locate, parse_overrides
from bakeoff.experiments.sweep.configurations import MOST_AT_ALL, Configuration, SplitOverrides, get_text, list_values
from bakeoff.experiments.sweep.sweep_manifest import SweepJob
from bakeoff.foundation.errors import ConfigError, show

LOG = "log"
Value = str | int | float
Values = tuple[Value, ...]  # one value of each axis


@dataclass(frozen=True)
class _Counted:
    """An axis with a list of values, as they are written."""

    key: str
    values: tuple[str, ...]

    @property
    def size(self) -> float:
        return len(self.values)


class Categorical(_Counted):
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

    def parse(self, text: str) -> Value:
        return text

    def __str__(self) -> str:
        return ", ".join(self.values)


class Steps(_Counted):
    """The values of a range. A value is its index, so that it is written as a grid would write it."""

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

    def parse(self, text: str) -> Value:
        return self.values.index(text)

    def __str__(self) -> str:
        return f"{self.values[0]} to {self.values[-1]}, {len(self.values)} values"


@dataclass(frozen=True)
class NumericRange:
    """The numbers between two ends, both included; `whole` ones are integers."""

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
        """Return a number near the middle that is easy to read."""
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        if self.whole:
            return round(middle)
        plain = float(f"{middle:.3g}")
        return plain if self.low <= plain <= self.high else middle

    def all(self) -> Iterable[Value]:
        return range(int(self.low), int(self.high) + 1)

    def text(self, value: Value) -> str:
        return repr(value)

    def parse(self, text: str) -> Value:
        return int(text) if self.whole else float(text)

    def __str__(self) -> str:
        how = [name for name, is_so in (("whole numbers", self.whole), ("logarithmic", self.log)) if is_so]
        return ", ".join([f"{self.text(self.low)} to {self.text(self.high)}", *how])


Axis = Categorical | Steps | NumericRange


@dataclass(frozen=True)
class Space:
    parts: tuple[str | Axis, ...]  # in the order of the command line; a text is a fixed override

    @property
    def axes(self) -> list[Axis]:
        return [part for part in self.parts if not isinstance(part, str)]

    @property
    def size(self) -> float:
        return math.prod(axis.size for axis in self.axes)

    def make_configuration(self, values: Values) -> Configuration:
        varied = iter([f"{axis.key}={axis.text(value)}" for axis, value in zip(self.axes, values, strict=True)])
        overrides = [part if isinstance(part, str) else next(varied) for part in self.parts]
        texts = [text for text, part in zip(overrides, self.parts, strict=True) if not isinstance(part, str)]
        return Configuration(tuple(overrides), tuple(texts))

    def parse_job(self, job: SweepJob) -> Values:
        texts = [text.partition("=")[2] for text in job.configurations[0]]
        return tuple(axis.parse(text) for axis, text in zip(self.axes, texts, strict=True))

    def corners(self) -> list[Configuration]:
        """Return the middle, and the configurations with one axis at an end, or at one of its choices."""
        middle = tuple(axis.middle for axis in self.axes)
        ends = [middle]
        for place, axis in enumerate(self.axes):
            ends += [(*middle[:place], corner, *middle[place + 1 :]) for corner in axis.corners]
        return [self.make_configuration(values) for values in dict.fromkeys(ends)]

    def first_without(self, tried: Collection[Values]) -> Values:
        """Return values that were not tried. The space must have some."""
        return next(values for values in itertools.product(*(axis.all() for axis in self.axes)) if values not in tried)


def parse_space(overrides: Iterable[str], conf: Path) -> Space:
    """Return the space of these overrides, of which those of a launcher are no part. If a key is set twice, the last
    one counts."""
    variants = SplitOverrides.split(overrides).variants
    by_key = {override.get_key_element(): override for override in parse_overrides(variants)}
    parsed = by_key.values()
    space = Space(tuple(_parse_axis(one, conf) if one.is_sweep_override() else get_text(one) for one in parsed))
    if not space.axes:
        raise ConfigError(
            f"--search: must be given what varies, got {show(' '.join(map(str, space.parts)))[1:-1] or 'nothing'}; "
            "write 'lr.peak=interval(0.001,0.3)' or lr=cosine,exponential"
        )
    return space


def _parse_axis(override: Override, conf: Path) -> Axis:
    value, key, where = override.value(), override.get_key_element(), locate(override)
    tags: set[str] = getattr(value, "tags", set())
    is_log = tags == {LOG} and isinstance(value, IntervalSweep)
    if tags and not is_log:
        raise ConfigError(
            f"{where}: must be tag(log,interval(…)), for a search knows no other tag, "
            f"got {', '.join(sorted(tags))}; leave it out"
        )
    if isinstance(value, IntervalSweep):
        return _parse_interval(override, value, is_log)
    if isinstance(value, ChoiceSweep | RangeSweep):
        value.shuffle = False  # the search itself draws at random, by its seed
    texts = tuple(text.removeprefix(f"{key}=") for text in list_values(override, conf, MOST_AT_ALL))
    if len(texts) > MOST_AT_ALL:
        raise ConfigError(
            f"{where}: must be at most {MOST_AT_ALL:,} values, got more; write interval(…) or int(interval(…))"
        )
    return Steps(key, texts) if isinstance(value, RangeSweep) else Categorical(key, tuple(dict.fromkeys(texts)))


def _parse_interval(override: Override, value: IntervalSweep, is_log: bool) -> NumericRange:
    low, high = value.start, value.end
    assert low is not None and high is not None
    where = locate(override)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ConfigError(f"{where}: must have ends that are numbers, got {low} and {high}")
    if low >= high:
        raise ConfigError(
            f"{where}: must go from its lower to its higher end, got {low} to {high}; "
            "write the lower first, or one value without interval(…)"
        )
    if is_log and low <= 0:
        raise ConfigError(f"{where}: must begin above 0 to be logarithmic, got {low}; leave tag(log,…) out")
    return NumericRange(override.get_key_element(), low, high, is_log, isinstance(low, int) and isinstance(high, int))
