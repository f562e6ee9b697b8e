"""Imported settings -> files of conf/: an option in each group that they know, and a preset for every group."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.config.variant import KINDS
from bakeoff.errors import ConfigError
from bakeoff.run.parse import Problems, kind_of, parse_kind
from bakeoff.run.yaml_file import write_mapping

GROUPS = ("model", "lr", "optimizer", "train")
EXPERIMENT = "experiment"
OTHERS = {"memory": "high", "evaluate": "standard", "export": "saved_model", "track": "mlflow"}  # no file says these


def checked_settings(trees: Mapping[str, dict[str, Any]], file: str) -> dict[str, Any]:
    """The settings object of each group; refuses, all at once, what this project's own rules forbid."""
    problems = Problems(lambda key: file)
    objects = {}
    for group in GROUPS:
        tree = dict(trees[group])
        if group == "train" and "steps" not in tree:
            tree["steps"] = 1  # whoever uses the option will say how long
        objects[group] = parse_kind(KINDS[group], tree, group, problems)
    problems.raise_any()
    return objects


def write_options(trees: Mapping[str, dict[str, Any]], conf: Path, *, name: str, file: str, force: bool) -> list[Path]:
    """The files written; nothing is written if one of them is there already, unless `force`."""
    objects = checked_settings(trees, file)
    paths = {group: conf / group / f"{name}.yaml" for group in (*GROUPS, EXPERIMENT)}
    there = [path.as_posix() for path in paths.values() if path.exists()]
    if there and not force:
        raise ConfigError(f"{', '.join(there)}: there already; choose another --name, or replace with --force")
    for group in GROUPS:
        tree = _option(group, trees[group], objects[group])
        write_mapping(paths[group], tree, head=f"# From {file}, by `bakeoff import-config`.\n")
    chosen = dict.fromkeys(GROUPS, name) | OTHERS
    choices = "".join(f"  - override /{group}: {option}\n" for group, option in chosen.items())
    head = f"# @package _global_\n# What {file} says: network, schedule, optimizer and training together.\n"
    paths[EXPERIMENT].parent.mkdir(parents=True, exist_ok=True)
    paths[EXPERIMENT].write_text(f"{head}defaults:\n{choices}", encoding="utf-8", newline="\n")
    return list(paths.values())


def _option(group: str, tree: dict[str, Any], settings: Any) -> dict[str, Any]:
    option = {"kind": tree["kind"]} if len(KINDS[group]) > 1 else {}
    option |= differing(settings)
    if group == "train" and "steps" not in tree:
        del option["steps"]
    return option


def differing(settings: Any) -> dict[str, Any]:
    """The fields that are not their class's defaults, as YAML has them."""
    tree: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value, default = getattr(settings, field.name), _default(field)
        if value == default:
            continue
        tree[field.name] = _plain(value, field.metadata.get("kinds"))
    return tree


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _plain(value: Any, kinds: Mapping[str, type] | None = None) -> Any:
    """Where several kinds of settings may stand, with the one it is."""
    if dataclasses.is_dataclass(value):
        return ({"kind": kind_of(kinds, value)} if kinds else {}) | differing(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
