"""A group and a kind -> valid settings of it, as its first option in conf/ has them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bakeoff.config.compose.variant import KINDS
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.run_file.parse import Problems, parse_kind

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"


@cache
def options_of(group: str) -> tuple[Path, ...]:
    return tuple(sorted((CONF / group).glob("*.yaml")))


def read_option(path: Path) -> dict[str, Any]:
    """Return the values of an option, over those of the options that it builds on."""
    tree: dict[str, Any] = {}
    values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    for other in values.pop("defaults", []):
        tree = _over(tree, read_option(path.with_name(f"{other}.yaml")))
    return _over(tree, values)


def _over(tree: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    both = {key: _over(tree[key], value) for key, value in values.items() if _are_mappings(tree.get(key), value)}
    return tree | values | both


def _are_mappings(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def kind_of_option(group: str, path: Path) -> str:
    kind: str = read_option(path).get("kind", next(iter(KINDS[group])))
    return kind


def settings_of(group: str, kind: str) -> Any:
    """Return the settings of the kind's first option; raise ConfigError if no option is of this kind."""
    path = next((path for path in options_of(group) if kind_of_option(group, path) == kind), None)
    if path is None:
        raise ConfigError(f"conf/{group}/: no option is of kind {kind}; write one")
    problems = Problems(lambda key: path.as_posix())
    tree = {key: value for key, value in read_option(path).items() if value != "???"}
    settings = parse_kind(KINDS[group], tree | _wanted(group, kind), group, problems)
    problems.raise_any()
    return settings


def _wanted(group: str, kind: str) -> dict[str, Any]:
    """Return what an option leaves to the user."""
    wanted: dict[str, dict[str, Any]] = {
        "merged": {"merge": ["one", "other"]},
        "tfrecords": {"layout": "object_detection"},
    }
    return wanted.get(kind, {}) if group == "data" else {}


def describe_option(path: Path) -> str:
    """Return the comment at the top of an option, or an empty text."""
    return " ".join(_top_comment(path))


def _top_comment(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# @package"):
            continue
        if not line.startswith("#"):
            return
        yield line.lstrip("# ").strip()
