"""The whole variant on one screen: every group of settings, read from a tree and written as run.yaml."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.config.compose.read_once import Same, parse_group, read_once
from bakeoff.config.track_settings import TRACKERS, Track
from bakeoff.evaluation.settings import Evaluate
from bakeoff.export.settings import Export
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.input.memory_budget import Memory
from bakeoff.learning.lr.schedule import Schedule
from bakeoff.learning.networks.network import Network
from bakeoff.learning.plan.optimizers import Optimizer
from bakeoff.learning.plan.phases import Derived
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.run_file.parse import Difference, Problems, differences, settings_tree
from bakeoff.learning.run_file.read_write import KEY, is_whole, load_parts, sealed, unsealed
from bakeoff.learning.run_file.settings import LEARNING_GROUPS, Groups, LearningRun, parse_parts, tree_of
from bakeoff.learning.run_file.yaml_file import read_mapping, write_mapping

GROUPS: Groups = {  # all but `data`, whose settings only the building of records reads
    **LEARNING_GROUPS,
    "evaluate": {"evaluate": Evaluate},
    "export": {"export": Export},
    "track": TRACKERS,
}
FILLED_IN = ("lr", "train")  # groups with numbers that follow from others, so that each configuration has its own
HEAD = (
    "# Written by render_config from params.yaml, conf/ and the records: the whole variant, every value filled in.\n"
    "# Later stages read only this. An edit here is refused: edit params.yaml or conf/.\n"
)
NAMED = 3  # edits in the message


@dataclass(frozen=True, kw_only=True)
class Run(LearningRun):
    """A rendered variant, with the settings of every stage."""

    evaluate: Evaluate
    export: Export
    track: Track


@dataclass(frozen=True)
class Draft:
    """What could be read of a variant; a part with a mistake is None."""

    variant: dict[str, str]
    seed: int | None
    data: dict[str, Any] | None
    model: Network | None
    memory: Memory | None
    lr: Schedule | None
    optimizer: Optimizer | None
    train: Train | None
    evaluate: Evaluate | None
    export: Export | None
    track: Track | None
    note: str | None = None

    def whole(self, derived: Derived) -> Run:
        """Return the variant; nothing may be missing."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return Run(**parts, derived=derived)


def parse_draft(tree: Mapping[str, Any], problems: Problems) -> Draft:
    """Return the checked groups, with every mistake noted."""
    return Draft(**parse_parts(tree, GROUPS, problems, parse_group))


def as_tree(run: Run | Draft) -> dict[str, Any]:
    """Return plain values, a group of several kinds with the one it is: what run.yaml holds."""
    return tree_of(run, GROUPS, group_tree)


def group_tree(settings: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return a group's plain values, once for settings that configurations of a sweep share."""
    if any(kinds is GROUPS[group] for group in FILLED_IN):
        return settings_tree(settings, kinds)
    return read_once(_group_tree, Same(settings), Same(kinds))


def _group_tree(settings: Same[Any], kinds: Same[Mapping[str, type]]) -> dict[str, Any]:
    return settings_tree(settings.one, kinds.one)


def load(path: Path) -> Run:
    """Read run.yaml, or raise ConfigError with all that is wrong with it."""
    return Run(**load_parts(path, GROUPS))


def write(run: Run, path: Path) -> None:
    """Write run.yaml; refuse to overwrite an edit."""
    tree = as_tree(run)
    require_unedited(path, tree)
    write_mapping(path, sealed(tree), head=HEAD)


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
