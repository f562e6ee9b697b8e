"""The groups of run.yaml that decide a training, as settings; and plain values made of them."""

from collections.abc import Callable, Mapping
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
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.run_file.parse import Problems, make_plain, parse_kind, settings_tree

Groups = Mapping[str, Mapping[str, type]]  # the classes that each group's settings can be, by the group's `kind`
LEARNING_GROUPS: Groups = {
    "model": NETWORKS,
    "memory": {"memory": Memory},
    "lr": SCHEDULES,
    "optimizer": OPTIMIZERS,
    "train": {"train": Train},
}
OTHER_GROUPS = ("evaluate", "export", "track")  # of run.yaml, which other stages read
MOST_OF_A_NOTE = 8000  # letters; MLflow's limit


@dataclass(frozen=True)
class LearningRun:
    """A rendered variant, as far as it decides a training."""

    variant: dict[str, str]  # the option chosen in each group
    seed: int
    data: dict[str, Any]  # the settings of the source, as plain values
    model: Network
    memory: Memory
    lr: Schedule
    optimizer: Optimizer
    train: Train
    derived: Derived
    note: str | None = None  # to remember the run by; it decides nothing

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**31, "seed", self.seed, "between 0 and 2**31 - 1")

    @property
    def name(self) -> str:
        """Says the variant in a list of runs."""
        return " · ".join(self.variant[group] for group in ("model", "lr", "memory"))


def parse_parts(
    tree: Mapping[str, Any], groups: Groups, problems: Problems, parse_group: Callable[..., Any] = parse_kind
) -> dict[str, Any]:
    """Return the checked parts of a variant by their names, with every mistake noted; a wrong part is None.

    A group that the tree lacks has been noted already. `variant` and `data` are taken as they stand.
    """
    parts = {
        group: parse_group(kinds, tree[group], group, problems) if group in tree else None
        for group, kinds in groups.items()
    }
    return parts | {
        "variant": tree.get("variant"),
        "data": tree.get("data"),
        "seed": _parse_seed(tree.get("seed"), problems),
        "note": _parse_note(tree.get("note"), problems),
    }


def _parse_seed(seed: Any, problems: Problems) -> int | None:
    if type(seed) is not int:
        problems.add("seed", f"must be a whole number, got {'nothing' if seed is None else show(seed)}")
        return None
    if not 0 <= seed < 2**31:
        problems.add("seed", f"must be between 0 and 2**31 - 1, got {seed}")
    return seed


def _parse_note(note: Any, problems: Problems) -> str | None:
    if note is None or (isinstance(note, str) and note.strip() and len(note) <= MOST_OF_A_NOTE):
        return note
    problems.add("note", f"must be a text of at most {MOST_OF_A_NOTE:,} letters, got {show(note)}")
    return None


def tree_of(run: Any, groups: Groups, group_tree: Callable[..., dict[str, Any]] = settings_tree) -> dict[str, Any]:
    """Return the plain values of a run, or of a draft of one, as run.yaml holds them."""
    tree: dict[str, Any] = {"variant": run.variant, "seed": run.seed}
    if run.note is not None:
        tree["note"] = run.note
    if run.data is not None:
        tree["data"] = run.data
    for group, kinds in groups.items():
        if (settings := getattr(run, group)) is not None:
            tree[group] = group_tree(settings, kinds)
    return tree | ({"derived": make_plain(run.derived)} if isinstance(run, LearningRun) else {})


def learning_tree(run: LearningRun) -> dict[str, Any]:
    """Return the plain values of all that decides a training."""
    return tree_of(run, LEARNING_GROUPS)
