"""Hydra's words -> the space that a search draws from: a product of axes, beside the words that are fixed.

lr.peak=tag(log,interval(0.001,0.3)) seed=range(0,5) lr=cosine,exponential train.steps=500
"""

import itertools
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep

from bakeoff.config.choice import read_words
from bakeoff.errors import ConfigError
from bakeoff.sweep.manifest import SweepJob
from bakeoff.sweep.points import MOST_AT_ALL, Point, line_of, values_of
from bakeoff.sweep.search.axes import Axis, Choice, Interval, Steps, Value

LOG = "log"
Drawn = tuple[Value, ...]  # one of each axis


@dataclass(frozen=True)
class Space:
    words: tuple[str | Axis, ...]  # in the order in which they were said; a text is fixed

    @property
    def axes(self) -> list[Axis]:
        return [word for word in self.words if not isinstance(word, str)]

    @property
    def size(self) -> float:
        return math.prod(axis.size for axis in self.axes)

    def point(self, drawn: Drawn) -> Point:
        varied = iter([f"{axis.key}={axis.text(value)}" for axis, value in zip(self.axes, drawn, strict=True)])
        overrides = [word if isinstance(word, str) else next(varied) for word in self.words]
        texts = [text for text, word in zip(overrides, self.words, strict=True) if not isinstance(word, str)]
        return Point(tuple(overrides), tuple(texts))

    def drawn(self, job: SweepJob) -> Drawn:
        """What a trial was made of."""
        texts = [text.partition("=")[2] for text in job.points[0]]
        return tuple(axis.read(text) for axis, text in zip(self.axes, texts, strict=True))

    def corners(self) -> list[Point]:
        """The middle, and from there each axis to its ends, or to each of its choices."""
        middle = tuple(axis.middle for axis in self.axes)
        found = [middle]
        for place, axis in enumerate(self.axes):
            found += [(*middle[:place], corner, *middle[place + 1 :]) for corner in axis.corners]
        return [self.point(drawn) for drawn in dict.fromkeys(found)]

    def first_without(self, tried: Collection[Drawn]) -> Drawn:
        """Of a space with more points than those."""
        return next(drawn for drawn in itertools.product(*(axis.all() for axis in self.axes)) if drawn not in tried)


def space_of(words: Iterable[str], conf: Path) -> Space:
    """Of a key said twice, the last counts."""
    overrides = {override.get_key_element(): override for override in read_words(words)}
    space = Space(tuple(_axis(one, conf) if one.is_sweep_override() else line_of(one) for one in overrides.values()))
    if not space.axes:
        raise ConfigError(
            f"--search: must be told what varies, got {' '.join(map(str, space.words)) or 'nothing'}; "
            "write 'lr.peak=interval(0.001,0.3)' or lr=cosine,exponential"
        )
    return space


def _axis(override: Override, conf: Path) -> Axis:
    value, key = override.value(), override.get_key_element()
    tags: set[str] = getattr(value, "tags", set())
    is_log = tags == {LOG} and isinstance(value, IntervalSweep)
    if tags and not is_log:
        raise ConfigError(
            f"command line: {line_of(override)}: must be tag(log,interval(…)), for a search knows no other tag, "
            f"got {', '.join(sorted(tags))}; leave it out"
        )
    if isinstance(value, IntervalSweep):
        return _interval(override, value, is_log)
    if isinstance(value, ChoiceSweep | RangeSweep):
        value.shuffle = False  # a search draws by itself, each time the same
    texts = tuple(text.removeprefix(f"{key}=") for text in values_of(override, conf, MOST_AT_ALL))
    if len(texts) > MOST_AT_ALL:
        raise ConfigError(
            f"command line: {line_of(override)}: must be at most {MOST_AT_ALL:,} values, got more; "
            "write interval(…) or int(interval(…))"
        )
    return Steps(key, texts) if isinstance(value, RangeSweep) else Choice(key, tuple(dict.fromkeys(texts)))


def _interval(override: Override, value: IntervalSweep, is_log: bool) -> Interval:
    low, high = value.start, value.end
    assert low is not None and high is not None
    said = f"command line: {line_of(override)}"
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ConfigError(f"{said}: must have ends that are numbers, got {low} and {high}")
    if low >= high:
        raise ConfigError(
            f"{said}: must go from its lower to its higher end, got {low} to {high}; "
            "write the lower first, or one value without interval(…)"
        )
    if is_log and low <= 0:
        raise ConfigError(f"{said}: must begin above 0 to be logarithmic, got {low}; leave tag(log,…) out")
    return Interval(override.get_key_element(), low, high, is_log, isinstance(low, int) and isinstance(high, int))
