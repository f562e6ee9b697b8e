"""`models/config/run.yaml`, the only written form of a variant, as later stages read it: same parser, no overrides.

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
from bakeoff.learning.run_file.parse import Difference, Problems, differences, parse
from bakeoff.learning.run_file.settings import GROUPS, Run, as_tree, parse_draft
from bakeoff.learning.run_file.yaml_file import read_mapping, write_mapping

HEAD = (
    "# Written by render_config from params.yaml, conf/ and the records: the whole variant, every value filled in.\n"
    "# Later stages read only this. An edit here is refused: edit params.yaml or conf/.\n"
)
KEY = "digest"
NAMED = 3  # edits in the message


def write(run: Run, path: Path) -> None:
    """Write run.yaml; refuse to overwrite an edit."""
    tree = as_tree(run)
    require_unedited(path, tree)
    write_mapping(path, sealed(tree), head=HEAD)


def load(path: Path) -> Run:
    """Read run.yaml, or raise ConfigError with all that is wrong with it."""
    if not path.is_file():
        raise ConfigError(f"{path.as_posix()}: missing; run `dvc repro render_config`")
    problems = Problems(lambda key: path.as_posix())
    tree = read_mapping(path)
    for key in ("data", *GROUPS, "variant", "derived"):
        if key not in tree:
            problems.add(key, "is missing; run `dvc repro --force render_config`")
    variant = tree.get("variant")
    for group in ("data", *GROUPS):
        if isinstance(variant, dict) and not isinstance(name := variant.get(group), str):
            problems.add(f"variant.{group}", f"must be the name of an option, got {show(name)}")
    for key in tree.keys() - GROUPS.keys() - {"data", "variant", "seed", "note", "derived", KEY}:
        problems.add(key, "no such key")
    if not is_whole(tree):
        problems.note(f"{path.as_posix()}: was edited, but render_config writes it; delete it and run `dvc repro`")
    draft = parse_draft(tree, problems)
    derived = parse(Derived, tree.get("derived", {}), "derived", problems)
    problems.raise_any()
    return draft.whole(derived)


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


def require_unedited(path: Path, rendered: Mapping[str, Any]) -> None:
    """Refuse to go on if the file was edited, which is told from what would be written now."""
    if not path.is_file():
        return
    remedy = f"delete it (`git checkout {path.as_posix()}` brings the last one back)"
    try:
        tree = read_mapping(path)
    except ConfigError as error:
        raise ConfigError(f"{error}; render_config writes this file: {remedy} and run `dvc repro`") from None
    if is_whole(tree) or KEY not in tree:  # an earlier version wrote none
        return
    edits = differences(unsealed(tree), rendered)
    if not edits:
        return
    named = ", ".join(f"{edit.key} is {_word(edit.one)}, rendered is {_word(edit.other)}" for edit in edits[:NAMED])
    more = f", and {len(edits) - NAMED} more" if len(edits) > NAMED else ""
    settable = [command for edit in edits if (command := _command(edit))]
    instead = f"; then `dvc exp run {' '.join(settable[:NAMED])}`, or the same in params.yaml" if settable else ""
    raise ConfigError(f"{path.as_posix()}: was edited, but render_config writes it ({named}{more}); {remedy}{instead}")


def _command(edit: Difference) -> str | None:
    """Return the option of `dvc exp run` that does what the edit meant to do."""
    group, _, inner = edit.key.partition(".")
    if group == "derived" or inner == "kind" or "[" in edit.key or isinstance(edit.one, (list, dict)):
        return None
    if group == "variant":
        return f"-S {inner}.use={edit.one}"
    return f"-S {'++' if inner else ''}{edit.key}={_word(edit.one)}"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _digest(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
