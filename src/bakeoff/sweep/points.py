"""Hydra's words with several values at once -> the points of a sweep, each a list of plain overrides.

lr=cosine,exponential seed=range(0,3) 'model=glob(ssd*)' +lr.warmup_steps=0
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.types import Glob, Override

from bakeoff.config.choice import read_words
from bakeoff.errors import ConfigError

MOST_POINTS, MOST_AT_ALL = 1000, 100_000  # by oneself, and if one is sure


@dataclass(frozen=True)
class Point:
    overrides: tuple[str, ...]
    varied: tuple[str, ...]  # those of them in which it differs from other points

    @property
    def name(self) -> str:
        return " ".join(self.varied) or " ".join(self.overrides) or "params.yaml"


def points_of(words: Iterable[str], conf: Path, *, sure: bool = False) -> list[Point]:
    """In the order of Hydra's own sweeper: the last word varies first. Of a key said twice, the last counts."""
    most = MOST_AT_ALL if sure else MOST_POINTS
    overrides = {override.get_key_element(): override for override in read_words(words)}
    several = {key for key, override in overrides.items() if override.is_sweep_override()}
    axes = {
        key: values_of(override, conf, most) if key in several else [line_of(override)]
        for key, override in overrides.items()
    }
    number = math.prod(len(axis) for axis in axes.values())
    if number > most:
        sizes = " x ".join(_size(axes[key], most) for key in axes if key in several)
        remedy = "sweep fewer values" if sure else f"sweep fewer values, or --yes for up to {MOST_AT_ALL:,}"
        raise ConfigError(f"command line: must be at most {most:,} points, got {sizes}; {remedy}")
    return [
        Point(combination, tuple(text for key, text in zip(axes, combination, strict=True) if key in several))
        for combination in itertools.product(*axes.values())
    ]


def values_of(override: Override, conf: Path, most: int) -> list[str]:
    """As overrides; one more than `most` if there are more."""
    said = f"command line: {line_of(override)}"
    if override.is_interval_sweep():
        raise ConfigError(
            f"{said}: an interval has no points to run; write values or range(start,stop,step), or --search tpe"
        )
    if isinstance(override.value(), Glob):
        values = _options(override, conf)
    else:
        values = list(itertools.islice(override.sweep_string_iterator(), most + 1))
    if not values:
        raise ConfigError(f"{said}: must stand for one value or more, got none")
    return [f"{override.get_key_element()}={value}" for value in values]


def _size(axis: list[str], most: int) -> str:
    """Of one that is longer nobody counts on."""
    return f"{len(axis):,}" if len(axis) <= most else f"over {most:,}"


def _options(override: Override, conf: Path) -> list[str]:
    folder = conf / override.key_or_group
    if not folder.is_dir():
        groups = ", ".join(sorted(path.name for path in conf.iterdir() if path.is_dir()))
        raise ConfigError(f"command line: {line_of(override)}: glob(…) is for options of a group; one of: {groups}")
    names = sorted(file.stem for file in folder.glob("*.yaml"))
    pattern = override.value()
    assert isinstance(pattern, Glob)
    found = pattern.filter(names)
    if not found:
        raise ConfigError(
            f"command line: {line_of(override)}: matches none of {folder.as_posix()}/: {', '.join(names)}"
        )
    return found


def line_of(override: Override) -> str:
    assert override.input_line is not None
    return override.input_line
