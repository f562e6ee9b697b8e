"""The whole variant on one screen, and `models/config/run.yaml`, its only written form.

Stages after render_config call `load`: the same parser, no Hydra, no overrides.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.config.parse import Problems, kind_of, parse, parse_kind
from bakeoff.config.seal import is_whole, require_unedited, sealed
from bakeoff.config.yaml_file import read_mapping, write_mapping
from bakeoff.errors import ConfigError, require
from bakeoff.input.budget import Parts
from bakeoff.input.memory import Memory
from bakeoff.input.order import Order
from bakeoff.input.shape import Shape
from bakeoff.lr import SCHEDULES, Schedule
from bakeoff.networks import NETWORKS, Network
from bakeoff.records import SOURCES
from bakeoff.records.manifest import Manifest, read_manifest
from bakeoff.records.record import TRAIN, VALIDATION, Source
from bakeoff.tasks.evaluation import Evaluate
from bakeoff.tasks.export import Export
from bakeoff.tracking.settings import TRACKERS, Track
from bakeoff.training.optimizers import OPTIMIZERS, Optimizer
from bakeoff.training.phases import Leg, Span
from bakeoff.training.settings import Train

KINDS: dict[str, Mapping[str, type]] = {
    "data": SOURCES,
    "model": NETWORKS,
    "memory": {"memory": Memory},
    "lr": SCHEDULES,
    "optimizer": OPTIMIZERS,
    "train": {"train": Train},
    "evaluate": {"evaluate": Evaluate},
    "export": {"export": Export},
    "track": TRACKERS,
}

HEAD = (
    "# Written by render_config from params.yaml, conf/ and the records: the whole variant, every value filled in.\n"
    "# Later stages read only this. An edit here is refused: edit params.yaml or conf/.\n"
)


@dataclass(frozen=True)
class Derived:
    """What follows from the rest and from the records; nobody sets it."""

    task: str
    num_classes: int
    multi_label: bool  # whether an example may have any number of labels
    train_examples: int
    validation_examples: int
    steps: int
    epochs: float
    phases: tuple[Span, ...]  # one for a run without phases
    parameters: int
    batch_size_because: str
    prefetch_batches: int
    decode_threads: int
    shuffle_windows: tuple[int, ...]  # examples in the buffer and the queue of memory.shuffle: buffer
    memory_budget_bytes: int
    memory_estimate_bytes: int
    memory_parts: Parts  # what the estimate is the sum of, in bytes
    device_budget_bytes: int  # 0: the network is in the process's own memory
    device_estimate_bytes: int


@dataclass(frozen=True)
class Run:
    variant: dict[str, str]  # the option chosen in each group
    seed: int
    data: Source
    model: Network
    memory: Memory
    lr: Schedule
    optimizer: Optimizer
    train: Train
    evaluate: Evaluate
    export: Export
    track: Track
    derived: Derived | None = None  # None until the records are known

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**31, "seed", self.seed, "between 0 and 2**31 - 1")

    @property
    def name(self) -> str:
        """Says the variant in a list of runs."""
        return " · ".join(self.variant[group] for group in ("model", "lr", "memory"))

    @property
    def legs(self) -> list[Leg]:
        """What the step loop runs, one after the other; the records must be known."""
        assert self.derived is not None
        train = self.train
        if not train.phases:
            return [Leg(self.derived.phases[0], self.lr, train.trainable, "last")]
        return [
            Leg(span, phase.lr or self.lr, phase.trainable or train.trainable, phase.start)
            for span, phase in zip(self.derived.phases, train.phases, strict=True)
        ]

    @property
    def auto_legs(self) -> list[Leg]:
        """Those that have no batch size of their own."""
        own = [phase.batch_size is not None for phase in self.train.phases] or [False]
        return [leg for leg, has_own in zip(self.legs, own, strict=True) if not has_own]

    @property
    def order(self) -> Order:
        """In which training examples come."""
        assert self.derived is not None
        return Order(self.derived.train_examples, self.seed, self.derived.shuffle_windows)

    def batches_of(self, size: int) -> Shape:
        """Batches of `size` examples as this variant's network takes them; the records must be known."""
        assert self.derived is not None
        threads, waiting = self.derived.decode_threads, self.derived.prefetch_batches
        several = self.derived.num_classes if self.derived.multi_label else 0
        model = self.model
        return Shape(
            self.derived.task,
            model.input_size,
            model.frames,
            size,
            threads,
            waiting,
            several_labels=several,
            central_crop=model.central_crop,
            sampling=model.sampling,
        )


@dataclass(frozen=True)
class Draft:
    """What could be read of a variant; a part with a mistake is None."""

    variant: dict[str, str]
    seed: int | None
    data: Source | None
    model: Network | None
    memory: Memory | None
    lr: Schedule | None
    optimizer: Optimizer | None
    train: Train | None
    evaluate: Evaluate | None
    export: Export | None
    track: Track | None

    def whole(self, derived: Derived | None) -> Run:
        """Nothing may be missing."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return Run(**parts, derived=derived)


def parse_draft(tree: Mapping[str, Any], problems: Problems) -> Draft:
    """The checked groups, with every mistake noted; a group that the tree lacks has been noted already."""
    groups: dict[str, Any] = {
        group: parse_kind(kinds, tree[group], group, problems) if group in tree else None
        for group, kinds in KINDS.items()
    }
    seed = tree.get("seed")
    if type(seed) is not int:
        problems.add("seed", f"must be a whole number, got {'nothing' if seed is None else repr(seed)}")
        seed = None
    elif not 0 <= seed < 2**31:
        problems.add("seed", f"must be between 0 and 2**31 - 1, got {seed}")
    return Draft(variant=dict(tree.get("variant", {})), seed=seed, **groups)


def as_tree(run: Run | Draft) -> dict[str, Any]:
    """Plain values, a group of several kinds with the one it is: what run.yaml holds."""
    tree: dict[str, Any] = {"variant": run.variant, "seed": run.seed}
    for group, kinds in KINDS.items():
        if (settings := getattr(run, group)) is not None:
            tree[group] = _settings(settings, kinds)
    return tree | ({"derived": _plain(run.derived)} if isinstance(run, Run) and run.derived else {})


def write(run: Run, path: Path) -> None:
    """Refuses to overwrite an edit."""
    tree = as_tree(run)
    require_unedited(path, tree)
    write_mapping(path, sealed(tree), head=HEAD)


def load(path: Path) -> tuple[Run, Derived]:
    """The rendered variant and its derived numbers."""
    if not path.is_file():
        raise ConfigError(f"{path.as_posix()}: missing; run `dvc repro render_config`")
    problems = Problems(lambda key: path.as_posix())
    tree = read_mapping(path)
    for key in (*KINDS, "variant", "derived"):
        if key not in tree:
            problems.add(key, "is missing; run `dvc repro --force render_config`")
    for key in tree.keys() - KINDS.keys() - {"variant", "seed", "derived", "digest"}:
        problems.add(key, "no such key")
    if not is_whole(tree):
        problems.note(f"{path.as_posix()}: was edited, but render_config writes it; delete it and run `dvc repro`")
    draft = parse_draft(tree, problems)
    derived = parse(Derived, tree.get("derived", {}), "derived", problems)
    problems.raise_any()
    return draft.whole(derived), derived


def fitting_manifest(records: Path, derived: Derived) -> Manifest:
    """The records' manifest, if it is still the one that the variant was rendered for."""
    manifest = read_manifest(records)
    if len(manifest.classes) != derived.num_classes or manifest.task != derived.task:
        raise ConfigError(
            f"models/config/run.yaml: was rendered for {derived.num_classes} classes and {derived.task}, "
            f"{records.as_posix()} has {len(manifest.classes)} and {manifest.task}; run `dvc repro`"
        )
    for key, split in (("train_examples", TRAIN), ("validation_examples", VALIDATION)):
        rendered_for, there = getattr(derived, key), manifest.splits[split].examples
        if rendered_for != there:
            raise ConfigError(
                f"models/config/run.yaml: was rendered for {rendered_for} {split} examples, "
                f"{records.as_posix()} has {there}; run `dvc repro`"
            )
    return manifest


def _settings(settings: Any, kinds: Mapping[str, type] | None = None) -> dict[str, Any]:
    """A settings object as a tree; where several kinds may stand, with the one it is."""
    tree: dict[str, Any] = {"kind": kind_of(kinds, settings)} if kinds and len(kinds) > 1 else {}
    for field in dataclasses.fields(settings):
        tree[field.name] = _plain(getattr(settings, field.name), field.metadata.get("kinds"))
    return tree


def _plain(value: Any, kinds: Mapping[str, type] | None = None) -> Any:
    """Tuples as lists, as YAML has them."""
    if dataclasses.is_dataclass(value):
        return _settings(value, kinds)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
