"""run.yaml ends with a digest of itself, so that an edit by hand or by `dvc exp run -S models/config/run.yaml:…` shows.

render_config would overwrite it, and DVC would record a result without it; so it is refused.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.errors import ConfigError
from bakeoff.run.differences import Difference, differences
from bakeoff.run.yaml_file import read_mapping

KEY = "digest"
NAMED = 3  # edits in the message


def sealed(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {**tree, KEY: _digest(tree)}


def is_whole(tree: Mapping[str, Any]) -> bool:
    """Whether the tree is as it was sealed."""
    return tree.get(KEY) == _digest(unsealed(tree))


def unsealed(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key != KEY}


def require_unedited(path: Path, rendered: Mapping[str, Any]) -> None:
    """What was edited is told from what would be written now."""
    if not path.is_file():
        return
    remedy = f"delete it (`git checkout {path.as_posix()}` brings the last one back)"
    try:
        found = read_mapping(path)
    except ConfigError as error:
        raise ConfigError(f"{error}; render_config writes this file: {remedy} and run `dvc repro`") from None
    if is_whole(found) or KEY not in found:  # an earlier version wrote none
        return
    edits = differences(unsealed(found), rendered)
    if not edits:
        return
    named = ", ".join(f"{edit.key} is {_said(edit.one)}, rendered is {_said(edit.other)}" for edit in edits[:NAMED])
    more = f", and {len(edits) - NAMED} more" if len(edits) > NAMED else ""
    settable = [command for edit in edits if (command := _command(edit))]
    instead = f"; then `dvc exp run {' '.join(settable[:NAMED])}`, or the same in params.yaml" if settable else ""
    raise ConfigError(f"{path.as_posix()}: was edited, but render_config writes it ({named}{more}); {remedy}{instead}")


def _command(edit: Difference) -> str | None:
    """The option of `dvc exp run` that does what the edit meant to do."""
    group, _, inner = edit.key.partition(".")
    if group == "derived" or inner == "kind" or "[" in edit.key or isinstance(edit.one, (list, dict)):
        return None
    if group == "variant":
        return f"-S {inner}.use={edit.one}"
    return f"-S {'++' if inner else ''}{edit.key}={_said(edit.one)}"


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _digest(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
