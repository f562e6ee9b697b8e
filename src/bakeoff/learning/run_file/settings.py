"""The whole variant on one screen: a group of settings for each of its parts, and plain values made of it."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.foundation.errors import require, show
from bakeoff.learning.input.memory_budget import Memory
from bakeoff.learning.lr import SCHEDULES
from bakeoff.learning.lr.schedule import Schedule
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.network import Network
from bakeoff.learning.plan.optimizers import OPTIMIZERS, Optimizer
from bakeoff.learning.plan.phases import Derived
from bakeoff.learning.plan.settings import Train
from bakeoff.learning.run_file.evaluate_export_track import TRACKERS, Evaluate, Export, Track
from bakeoff.learning.run_file.parse import Problems, make_plain, parse_kind, settings_tree

GROUPS: dict[str, Mapping[str, type]] = {  # all but `data`, whose settings only the building of records reads
    "model": NETWORKS,
    "memory": {"memory": Memory},
    "lr": SCHEDULES,
    "optimizer": OPTIMIZERS,
    "train": {"train": Train},
    "evaluate": {"evaluate": Evaluate},
    "export": {"export": Export},
    "track": TRACKERS,
}
MOST_OF_A_NOTE = 8000  # letters; MLflow's limit


@dataclass(frozen=True)
class Run:
    variant: dict[str, str]  # the option chosen in each group
    seed: int
    data: dict[str, Any]  # the settings of the source, as plain values
    model: Network
    memory: Memory
    lr: Schedule
    optimizer: Optimizer
    train: Train
    evaluate: Evaluate
    export: Export
    track: Track
    derived: Derived
    note: str | None = None  # to remember the run by; it decides nothing

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**31, "seed", self.seed, "between 0 and 2**31 - 1")

    @property
    def name(self) -> str:
        """Says the variant in a list of runs."""
        return " · ".join(self.variant[group] for group in ("model", "lr", "memory"))


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
    """Return the checked groups, with every mistake noted; a group that the tree lacks has been noted already.

    `data` is taken as it stands.
    """
    groups: dict[str, Any] = {
        group: parse_kind(kinds, tree[group], group, problems) if group in tree else None
        for group, kinds in GROUPS.items()
    }
    seed = tree.get("seed")
    if type(seed) is not int:
        problems.add("seed", f"must be a whole number, got {'nothing' if seed is None else show(seed)}")
        seed = None
    elif not 0 <= seed < 2**31:
        problems.add("seed", f"must be between 0 and 2**31 - 1, got {seed}")
    variant, data = tree.get("variant", {}), tree.get("data")
    for key, value in (("variant", variant), ("data", data)):
        if value is not None and not isinstance(value, Mapping):
            problems.add(key, f"must be a mapping, got {show(value)}")
    return Draft(variant=variant, seed=seed, data=data, note=_parse_note(tree.get("note"), problems), **groups)


def _parse_note(note: Any, problems: Problems) -> str | None:
    if note is None or (isinstance(note, str) and note.strip() and len(note) <= MOST_OF_A_NOTE):
        return note
    problems.add("note", f"must be a text of at most {MOST_OF_A_NOTE:,} letters, got {show(note)}")
    return None


def as_tree(run: Run | Draft) -> dict[str, Any]:
    """Return plain values, a group of several kinds with the one it is: what run.yaml holds."""
    tree: dict[str, Any] = {"variant": run.variant, "seed": run.seed}
    if run.note is not None:
        tree["note"] = run.note
    if run.data is not None:
        tree["data"] = run.data
    for group, kinds in GROUPS.items():
        if (settings := getattr(run, group)) is not None:
            tree[group] = settings_tree(settings, kinds)
    return tree | ({"derived": make_plain(run.derived)} if isinstance(run, Run) else {})
