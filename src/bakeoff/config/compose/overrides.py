"""Hydra's overrides -> the tree of params.yaml with them in it.

`lr=cosine lr.peak=0.1 +model.width=0.5 ~seed` and {"lr": "constant", "seed": 3} make
{"lr": {"use": "cosine", "peak": 0.1}, "model": {"width": 0.5}}.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import ConfigError, show
from bakeoff.learning.run_file.yaml_file import find_odd

if TYPE_CHECKING:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Override

USE = "use"
MOST_LETTERS = 10_000  # of an override; Hydra's parser takes seconds for more


def apply_overrides(values: Mapping[str, Any], overrides: Iterable[str], groups: Iterable[str]) -> dict[str, Any]:
    """Return params.yaml's tree with the overrides in it. What they leave alone is shared, and nobody may change it."""
    tree = dict(values)
    for override in parse_values(overrides):
        path = find_place(override, groups)
        if override.is_delete():
            _delete(tree, path, override)
        else:
            _set(tree, path, override.value())
    return tree


def parse_values(overrides: Iterable[str]) -> "list[Override]":
    """Parse overrides of one value each."""
    parsed = parse_overrides(overrides)
    for override in parsed:
        if override.is_sweep_override():
            raise ConfigError(f"{locate(override)}: several values at once are a sweep's")
        if not override.is_delete() and (odd := find_odd(override.value())):
            raise ConfigError(f"{locate(override)}: {odd[1]}")
    return parsed


def parse_overrides(texts: Iterable[str]) -> "list[Override]":
    """Parse overrides, also those of a sweep, which stand for several values."""
    return [_parse_override(text) for text in texts]


@lru_cache(maxsize=512)  # the configurations of a sweep share most of theirs; `value()` makes lists and mappings anew
def _parse_override(text: str) -> "Override":
    from hydra.errors import HydraException  # only who has overrides loads Hydra

    where = _locate_text(text)
    if len(text) > MOST_LETTERS:
        raise ConfigError(f"{where}: must be at most {MOST_LETTERS:,} letters")
    try:
        return _require_values(_parser().parse_override(text))
    except (HydraException, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: {show(' '.join(str(error).split()))[1:-1]}") from None


@cache
def _parser() -> "OverridesParser":
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


def _require_values(override: "Override") -> "Override":
    """Return an override whose values can be listed. Raises ValueError for others; no value is listed for that."""
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep, Sweep

    value = override.value()
    if isinstance(value, RangeSweep):
        if value.step == 0:
            raise ValueError("range() must have a step other than zero")
        if not all(math.isfinite(number) for number in (value.start, value.stop, value.step) if number is not None):
            raise ValueError("range() must have finite numbers")
    if isinstance(value, ChoiceSweep) and any(isinstance(one, Sweep) for one in value.list):
        raise ValueError("a sweep within a sweep; write all values with commas between")
    return override


def locate(override: "Override") -> str:
    """Return how a message names an override."""
    return _locate_text(override.input_line or "")


def _locate_text(text: str) -> str:
    return f"command line: {show(text)[1:-1]}"


def find_place(override: "Override", groups: Iterable[str]) -> tuple[str, ...]:
    """Return where in params.yaml an override stands: `lr=cosine` is `lr.use`."""
    path = tuple(override.key_or_group.replace("/", ".").split("."))
    return (*path, USE) if len(path) == 1 and path[0] in groups else path


def _set(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = tree.get(name)
        if isinstance(inner, str) and len(path) > 1 and name == path[0]:
            inner = {USE: inner}  # the bare name of an option
        tree[name] = dict(inner) if isinstance(inner, dict) else {}
        tree = tree[name]
    tree[path[-1]] = value


def _delete(tree: dict[str, Any], path: tuple[str, ...], override: "Override") -> None:
    for name in path[:-1]:
        inner = tree.get(name)
        tree[name] = dict(inner) if isinstance(inner, dict) else {}
        tree = tree[name]
    if path[-1] not in tree:
        raise ConfigError(f"{locate(override)}: params.yaml does not set it")
    del tree[path[-1]]
