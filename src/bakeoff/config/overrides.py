"""Hydra's overrides -> what params.yaml would say: `lr=cosine lr.peak=0.1 +model.width=0.5 experiment=frc_cosine`.

One choice has one meaning, whether it stands in params.yaml, behind `dvc exp run -S`, or on a command line.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from bakeoff.errors import ConfigError

USE = "use"


def applied(said: Mapping[str, Any], overrides: Iterable[str], groups: Iterable[str]) -> dict[str, Any]:
    """A copy of params.yaml's tree with the overrides in it."""
    tree = deepcopy(dict(said))
    for override in parsed(overrides):
        path = place(override, groups)
        if override.is_delete():
            _delete(tree, path, override)
        else:
            _set(tree, path, override.value())
    return tree


def parsed(overrides: Iterable[str]) -> list[Override]:
    found = read_words(overrides)
    for override in found:
        if override.is_sweep_override():
            raise ConfigError(f"command line: {override.input_line}: several values at once are a sweep's")
    return found


def read_words(words: Iterable[str]) -> list[Override]:
    """Those of a sweep, too, which stand for several values."""
    try:
        found: list[Override] = OverridesParser.create().parse_overrides(list(words))
    except HydraException as error:
        raise ConfigError(f"command line: {' '.join(str(error).split())}") from None
    return found


def place(override: Override, groups: Iterable[str]) -> tuple[str, ...]:
    """Where in params.yaml an override stands: `lr=cosine` is `lr.use`."""
    path = tuple(override.key_or_group.replace("/", ".").split("."))
    return (*path, USE) if len(path) == 1 and path[0] in groups else path


def _set(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = tree.get(name)
        if isinstance(inner, str) and len(path) > 1 and name == path[0]:
            inner = {USE: inner}  # the bare name of an option
        tree[name] = inner if isinstance(inner, dict) else {}
        tree = tree[name]
    tree[path[-1]] = value


def _delete(tree: dict[str, Any], path: tuple[str, ...], override: Override) -> None:
    for name in path[:-1]:
        inner = tree.get(name)
        if not isinstance(inner, dict):
            raise ConfigError(f"command line: {override.input_line}: params.yaml does not set it")
        tree = inner
    if path[-1] not in tree:
        raise ConfigError(f"command line: {override.input_line}: params.yaml does not set it")
    del tree[path[-1]]
