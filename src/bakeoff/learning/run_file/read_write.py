"""`models/config/run.yaml`, the only written form of a variant, as later stages read it: each the groups that it needs.

It ends with a digest of itself, so that an edit by hand or by `dvc exp run -S models/config/run.yaml:…` shows.
render_config would overwrite such an edit, and DVC would record a result without it; so it is refused.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.dataset.records.manifest import Manifest, read_manifest
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.foundation.errors import ConfigError, show
from bakeoff.learning.plan.phases import Derived
from bakeoff.learning.run_file.parse import Problems, parse, parse_kind
from bakeoff.learning.run_file.settings import LEARNING_GROUPS, OTHER_GROUPS, Groups, LearningRun, parse_parts
from bakeoff.learning.run_file.yaml_file import read_mapping

KEY = "digest"


def load_learning(path: Path) -> LearningRun:
    """Read what decides a training, or raise ConfigError with all that is wrong with it."""
    return LearningRun(**load_parts(path, LEARNING_GROUPS))


def load_parts(path: Path, groups: Groups) -> dict[str, Any]:
    """Read these groups of run.yaml and what belongs to no group, or raise ConfigError with all that is wrong."""
    tree, problems = _open(path, groups)
    parts = parse_parts(tree, groups, problems)
    parts["derived"] = parse(Derived, tree.get("derived", {}), "derived", problems)
    problems.raise_any()
    return parts


def load_group(path: Path, group: str, kinds: Mapping[str, type]) -> Any:
    """Read the settings of one group of run.yaml, or raise ConfigError with all that is wrong with it."""
    tree, problems = _open(path, {group: kinds})
    settings = parse_kind(kinds, tree[group], group, problems) if group in tree else None
    problems.raise_any()
    return settings


def _open(path: Path, groups: Groups) -> tuple[dict[str, Any], Problems]:
    """Return the tree of a whole run.yaml, with what is wrong besides the values of the groups."""
    if not path.is_file():
        raise ConfigError(f"{path.as_posix()}: missing; run `dvc repro render_config`")
    problems = Problems(lambda key: path.as_posix())
    tree = read_mapping(path)
    for key in ("data", *groups, "variant", "derived"):
        if key not in tree:
            problems.add(key, "is missing; run `dvc repro --force render_config`")
    for key in ("variant", "data"):
        if not isinstance(tree.get(key, {}), dict):
            problems.add(key, f"must be a mapping, got {show(tree[key])}")
    variant = tree.get("variant")
    for group in ("data", *groups):
        if isinstance(variant, dict) and not isinstance(name := variant.get(group), str):
            problems.add(f"variant.{group}", f"must be the name of an option, got {show(name)}")
    known = {*LEARNING_GROUPS, *OTHER_GROUPS, "data", "variant", "seed", "note", "derived", KEY}
    problems.refuse_keys(tree, known)
    if not is_whole(tree):
        problems.note(f"{path.as_posix()}: was edited, but render_config writes it; delete it and run `dvc repro`")
    return tree, problems


def fitting_manifest(records: Path, derived: Derived) -> Manifest:
    """Return the records' manifest, if it is still the one that the variant was rendered for."""
    manifest = read_manifest(records)
    if len(manifest.classes) != derived.num_classes or manifest.task != derived.task:
        raise ConfigError(
            f"models/config/run.yaml: was rendered for {derived.num_classes} classes and {derived.task}, "
            f"{records.as_posix()} has {len(manifest.classes)} and {manifest.task}; run `dvc repro`"
        )
    trained_on = derived.train_examples + derived.left_out_examples
    for rendered_for, split in ((trained_on, TRAIN), (derived.validation_examples, VALIDATION)):
        there = manifest.splits[split].examples
        if rendered_for != there:
            raise ConfigError(
                f"models/config/run.yaml: was rendered for {rendered_for} {split} examples, "
                f"{records.as_posix()} has {there}; run `dvc repro`"
            )
    return manifest


def sealed(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree with a digest of itself."""
    return {**tree, KEY: _digest(tree)}


def is_whole(tree: Mapping[str, Any]) -> bool:
    """Whether the tree is as it was sealed."""
    return tree.get(KEY) == _digest(unsealed(tree))


def unsealed(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key != KEY}


def _digest(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
