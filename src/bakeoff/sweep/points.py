"""A sweep's words, from the command line or a file; what becomes of them is a list of points.

lr=cosine,exponential seed=range(0,3) 'model=glob(ssd*)' +lr.warmup_steps=0
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Glob, Override

from bakeoff.config.words import read_words
from bakeoff.errors import ConfigError
from bakeoff.run.yaml_file import read_mapping
from bakeoff.sweep.parameters import as_words

SWEEPER = "hydra/sweeper"
MOST_POINTS, MOST_AT_ALL = 1000, 100_000  # by oneself, and if one is sure


@dataclass(frozen=True)
class Words:
    """Those of the variants, and those of Hydra itself, such as hydra/launcher=joblib."""

    variants: tuple[str, ...]
    hydra: tuple[str, ...]

    @classmethod
    def split(cls, words: Iterable[str]) -> "Words":
        texts = list(words)
        pairs = zip(texts, [override.key_or_group for override in read_words(texts)], strict=True)
        hydra = [text for text, key in pairs if key == "hydra" or key.startswith(("hydra.", "hydra/"))]
        return cls(tuple(text for text in texts if text not in hydra), tuple(hydra))


def load_words(file: Path) -> list[str]:
    """Return a file's sweep as one would write it on the command line.

    # conf/sweep/rates.yaml
    lr: [cosine, exponential]        these values
    lr.peak: 0.002,0.005             or Hydra's own words
    seed: range(0,3)
    ~lr.floor:                       taken away
    """
    if not file.is_file():
        raise ConfigError(f"--from: no such file, got {file.as_posix()}; sweeps are kept in conf/sweep/<name>.yaml")
    words = [_as_word(file, key, value) for key, value in read_mapping(file).items()]
    if not words:
        raise ConfigError(f"{file.as_posix()}: must say what varies, such as `lr: [cosine, exponential]`, got nothing")
    return words


def _as_word(file: Path, key: Any, value: Any) -> str:
    where = f"{file.as_posix()}: {key}"
    if isinstance(key, str) and key.startswith("~"):
        if value is not None:
            raise ConfigError(f"{where}: takes a value away, so nothing may stand behind it, got {value!r}")
        return key
    if isinstance(value, dict) or value == []:
        raise ConfigError(f"{where}: must be values or Hydra's words, got {value!r}; write lr.peak: 0.1,0.2")
    if isinstance(value, list):
        return f"{key}={','.join(map(as_words, value))}"
    return f"{key}={value if isinstance(value, str) else as_words(value)}"


@dataclass(frozen=True)
class Point:
    overrides: tuple[str, ...]
    varied: tuple[str, ...]  # those of them in which it differs from other points

    @property
    def name(self) -> str:
        return " ".join(self.varied) or " ".join(self.overrides) or "params.yaml"


def key_of(word: str) -> str:
    """`lr.peak` of `+lr.peak=0.1`, and of `~lr.peak`."""
    return word.partition("=")[0].lstrip("+~")


def fixed_words(words: Iterable[str]) -> dict[str, str]:
    """Return those that stand for one value, by their keys: all points have them in common."""
    texts = list(words)
    pairs = zip(texts, read_words(texts), strict=True)
    return {key_of(text): text for text, override in pairs if not override.is_sweep_override()}


def set_or_added(word: str) -> str:
    """As one who types less means `+key=value`: also where the key has a value already."""
    return f"+{word}" if word.startswith("+") and not word.startswith("++") else word


def require_few(words: Iterable[str], *, sure: bool = False) -> None:
    """Refuse words that stand for more points than anybody wants; Hydra would begin to make them."""
    most = MOST_AT_ALL if sure else MOST_POINTS
    overrides = {override.get_key_element(): override for override in read_words(words)}
    for override in overrides.values():
        if override.is_interval_sweep() and SWEEPER not in overrides:
            where = f"command line: {line_of(override)}"
            raise ConfigError(
                f"{where}: an interval has no points to run; write values or range(start,stop,step), or --search tpe"
            )
    counts = [_count(override, most) for override in overrides.values() if override.is_discrete_sweep()]
    if math.prod(max(count, 1) for count in counts) > most:
        sizes = " x ".join(f"{count:,}" if count <= most else f"over {most:,}" for count in counts)
        remedy = "sweep fewer values" if sure else f"sweep fewer values, or --yes for up to {MOST_AT_ALL:,}"
        raise ConfigError(f"command line: must be at most {most:,} points, got {sizes}; {remedy}")


def _count(override: Override, most: int) -> int:
    """Of values, no more than one above the most; the options of a glob(…) are never so many."""
    if isinstance(override.value(), Glob):
        return 1
    return sum(1 for _ in itertools.islice(override.sweep_string_iterator(), most + 1))


def values_of(override: Override, conf: Path, most: int) -> list[str]:
    """Return an override for each value; one more than `most` if there are more."""
    where = f"command line: {line_of(override)}"
    if isinstance(override.value(), Glob):
        values = _options(override, conf, where)
    else:
        values = list(itertools.islice(override.sweep_string_iterator(), most + 1))
    if not values:
        raise ConfigError(f"{where}: must stand for one value or more, got none")
    return [f"{override.get_key_element()}={value}" for value in values]


def _options(override: Override, conf: Path, where: str) -> list[str]:
    folder, pattern = conf / override.key_or_group, override.value()
    if not folder.is_dir():
        groups = ", ".join(sorted(path.name for path in conf.iterdir() if path.is_dir()))
        raise ConfigError(f"{where}: glob(…) is for options of a group; one of: {groups}")
    names = sorted(file.stem for file in folder.glob("*.yaml"))
    assert isinstance(pattern, Glob)
    found = pattern.filter(names)
    if not found:
        raise ConfigError(f"{where}: matches none of {folder.as_posix()}/: {', '.join(names)}")
    return found


def line_of(override: Override) -> str:
    assert override.input_line is not None
    return override.input_line
