"""Options that hold plain values only -> the tree that Hydra would compose of them, made without loading Hydra.

Loading Hydra and composing with it takes 0.4 seconds, and plain values leave it nothing to decide. An option is what it
builds on, with its own values over that. Whatever Hydra or OmegaConf would read as more than a value is left to them.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bakeoff.foundation.workspace import OPTION_NAME
from bakeoff.learning.run_file.yaml_file import Document, read_mapping

DEFAULTS, SELF = "defaults", "_self_"  # what an option builds on, and where its own values stand among that
PRIMARY = "variant"  # conf/variant.yaml lists the groups
PACKAGE = re.compile(r"(?m)^\s*#\s*@")  # Hydra's line that puts the values of a file elsewhere
CONSTANTS = ("true", "false", "null", "nan", "inf")  # which Hydra takes for no text
MISSING = "???"
INTERPOLATION = "${"
# A text that OmegaConf takes for a number if it stands there without quotes, such as 1.5e3.
LIKE_A_NUMBER = re.compile(r"[-+]?[0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?")


class NotPlain(Exception):
    """Only Hydra knows what these files stand for."""


def merge(tree: Any, *changes: Any) -> Any:
    """Return a tree with changes: mappings are merged, any other value takes the place of what was there."""
    for change in changes:
        if isinstance(tree, dict) and isinstance(change, dict):
            tree = tree | {key: merge(tree[key], value) if key in tree else value for key, value in change.items()}
        else:
            tree = change
    return tree


def merge_option(name: str, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return an option's values over those of the options that it builds on; `documents` are the files of them all.

    Raises NotPlain.
    """
    used: list[str] = []
    values = _merge_bases(name, documents, used)
    if len(used) > len(set(used)) or not all(_reads_alike(one, documents[one].values) for one in used):
        raise NotPlain
    return values


def _merge_bases(name: str, documents: Mapping[str, Document], used: list[str]) -> dict[str, Any]:
    used.append(name)
    values = documents[name].values
    own = {key: value for key, value in values.items() if key != DEFAULTS}
    order = values.get(DEFAULTS, [])
    order = order if SELF in order else [*order, SELF]
    if order.count(SELF) > 1:
        raise NotPlain
    parts = [own if part == SELF else _merge_bases(part, documents, used) for part in order]
    merged: dict[str, Any] = {}
    for part in parts:
        if not _can_be_merged(merged, part):
            raise NotPlain
        merged = merge(merged, part)
    return merged


def _can_be_merged(tree: Any, change: Any) -> bool:
    """Return whether OmegaConf puts the one over the other: it does not change a mapping, a list and a value into each
    other, but any of them from or into null."""
    if isinstance(tree, dict) and isinstance(change, dict):
        return all(_can_be_merged(tree[key], value) for key, value in change.items() if key in tree)
    kinds = [next((kind for kind in (dict, list) if isinstance(value, kind)), None) for value in (tree, change)]
    return kinds[0] == kinds[1] or tree is None or change is None


def require_plain(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a tree that OmegaConf would resolve to itself. Raises NotPlain."""
    if not _is_resolved(tree):
        raise NotPlain
    return tree


def lists_groups_only(variant: Path, groups: Iterable[str], preset: str) -> bool:
    """Return whether conf/variant.yaml does no more than list the groups and where a preset may stand."""
    values = read_mapping(variant)
    known = [*({group: MISSING} for group in groups), {preset: None}, SELF]
    entries = values.get(DEFAULTS)
    if [*values] != [DEFAULTS] or not isinstance(entries, list) or len(entries) != len(known):
        return False
    return all(entry in known for entry in entries) and PACKAGE.search(variant.read_text(encoding="utf-8")) is None


def _is_resolved(value: Any) -> bool:
    return not any(text == MISSING or INTERPOLATION in text for text in _texts_in(value))


def _reads_alike(option: str, value: Any) -> bool:
    """Return whether Hydra takes the name of an option for a name, and OmegaConf each of its texts for a text."""
    is_name = OPTION_NAME.fullmatch(option) and option.lower() not in CONSTANTS
    return (
        bool(is_name) and _is_resolved(value) and not any(map(LIKE_A_NUMBER.fullmatch, filter(None, _texts_in(value))))
    )


def _texts_in(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts_in(item)
