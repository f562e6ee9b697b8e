"""The overrides of a sweep, from the command line or a file; a sweeper turns them into a list of configurations.

lr=cosine,exponential seed=range(0,3) 'model=glob(ssd*)' +lr.warmup_steps=0
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Glob, Override

from bakeoff.config.compose.overrides import locate, parse_overrides
from bakeoff.experiments.sweep.params_diff import format_value
from bakeoff.foundation.errors import ConfigError, show
from bakeoff.foundation.shipped import find_conf, list_option_folders, list_options
from bakeoff.learning.run_file.yaml_file import read_mapping

SWEEPER = "hydra/sweeper"
MOST_CONFIGURATIONS, MOST_AT_ALL = 1000, 100_000  # without and with the user's --yes


@dataclass(frozen=True)
class SplitOverrides:
    """The overrides of variants, and those of Hydra itself, such as hydra/launcher=joblib."""

    variants: tuple[str, ...]
    hydra: tuple[str, ...]

    @classmethod
    def split(cls, overrides: Iterable[str]) -> "SplitOverrides":
        texts = list(overrides)
        pairs = zip(texts, [override.key_or_group for override in parse_overrides(texts)], strict=True)
        hydra = [text for text, key in pairs if key == "hydra" or key.startswith(("hydra.", "hydra/"))]
        return cls(tuple(text for text in texts if text not in hydra), tuple(hydra))


def load_overrides(file: Path) -> list[str]:
    """Return a file's sweep as overrides of the command line.

    # conf/sweep/rates.yaml
    lr: [cosine, exponential]        these values
    lr.peak: 0.002,0.005             or Hydra's own notation
    seed: range(0,3)
    ~lr.floor:                       taken away
    """
    if not file.is_file():
        raise ConfigError(f"--from: no such file, got {file.as_posix()}; sweeps are kept in conf/sweep/<name>.yaml")
    overrides = [_format_entry(file, key, value) for key, value in read_mapping(file).items()]
    if not overrides:
        raise ConfigError(f"{file.as_posix()}: must say what varies, such as `lr: [cosine, exponential]`, got nothing")
    return overrides


def _format_entry(file: Path, key: Any, value: Any) -> str:
    where = f"{file.as_posix()}: {show(key)[1:-1]}"
    if isinstance(key, str) and key.startswith("~"):
        if value is not None:
            raise ConfigError(f"{where}: takes a value away, so nothing may stand behind it, got {show(value)}")
        return key
    if isinstance(value, dict) or value == []:
        raise ConfigError(f"{where}: must be values or in Hydra's notation, got {show(value)}; write lr.peak: 0.1,0.2")
    if isinstance(value, list):
        return f"{key}={','.join(map(format_value, value))}"
    return f"{key}={value if isinstance(value, str) else format_value(value)}"


@dataclass(frozen=True)
class Configuration:
    """One configuration of a sweep, as overrides of the variant."""

    overrides: tuple[str, ...]
    varied: tuple[str, ...]  # the overrides in which it differs from other configurations

    @property
    def name(self) -> str:
        return " ".join(self.varied) or " ".join(self.overrides) or "params.yaml"


def find_key(override: str) -> str:
    """Return the key of an override: `lr.peak` for `+lr.peak=0.1` and for `~lr.peak`."""
    return override.partition("=")[0].lstrip("+~")


def select_fixed(overrides: Iterable[str]) -> dict[str, str]:
    """Return the overrides with one value, by their keys. All configurations have them in common."""
    texts = list(overrides)
    pairs = zip(texts, parse_overrides(texts), strict=True)
    return {find_key(text): text for text, parsed in pairs if not parsed.is_sweep_override()}


def set_or_add(override: str) -> str:
    """Return `++key=value` for `+key=value`, so that the key may have a value already."""
    return f"+{override}" if override.startswith("+") and not override.startswith("++") else override


def require_few(overrides: Iterable[str], *, sure: bool = False) -> None:
    """Raise ConfigError for more configurations than anybody wants, before Hydra starts to make them."""
    most = MOST_AT_ALL if sure else MOST_CONFIGURATIONS
    parsed = {override.get_key_element(): override for override in parse_overrides(overrides)}
    for override in parsed.values():
        if override.is_interval_sweep() and SWEEPER not in parsed:
            where = locate(override)
            raise ConfigError(
                f"{where}: an interval has no values to run; write values or range(start,stop,step), or --search tpe"
            )
    counts = [_count_values(override, most) for override in parsed.values() if override.is_discrete_sweep()]
    if math.prod(max(count, 1) for count in counts) > most:
        sizes = " x ".join(f"{count:,}" if count <= most else f"over {most:,}" for count in counts)
        remedy = "sweep fewer values" if sure else f"sweep fewer values, or --yes for up to {MOST_AT_ALL:,}"
        raise ConfigError(f"command line: must be at most {most:,} configurations, got {sizes}; {remedy}")


def _count_values(override: Override, most: int) -> int:
    """Return the number of values, but no more than `most` + 1. The options of a glob(…) are never so many."""
    if isinstance(override.value(), Glob):
        return 1
    return sum(1 for _ in itertools.islice(override.sweep_string_iterator(), most + 1))


def list_values(override: Override, conf: Path, most: int) -> list[str]:
    """Return an override for each value, and no more than `most` + 1 of them."""
    where = locate(override)
    if isinstance(override.value(), Glob):
        values = _match_options(override, conf, where)
    else:
        values = list(itertools.islice(override.sweep_string_iterator(), most + 1))
    if not values:
        raise ConfigError(f"{where}: must stand for one value or more, got none")
    return [f"{override.get_key_element()}={value}" for value in values]


def _match_options(override: Override, conf: Path, where: str) -> list[str]:
    folder, pattern = find_conf(conf, override.key_or_group), override.value()
    if not folder.is_dir():
        raise ConfigError(f"{where}: glob(…) is for options of a group; one of: {', '.join(list_option_folders(conf))}")
    names = list_options(conf, override.key_or_group)
    assert isinstance(pattern, Glob)
    matches = pattern.filter(names)
    if not matches:
        raise ConfigError(f"{where}: matches none of {folder.as_posix()}/: {', '.join(names)}")
    return matches


def get_text(override: Override) -> str:
    """Return the override as it was written."""
    assert override.input_line is not None
    return override.input_line
