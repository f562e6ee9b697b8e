"""What is wrong, or odd, only when several keys, the network and the records are seen together."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.config.anchor_coverage import best_overlaps
from bakeoff.config.facts import Facts
from bakeoff.config.watched import check_first_weights
from bakeoff.errors import ConfigError
from bakeoff.networks import NETWORKS, Network, Pretrained
from bakeoff.networks.selection import select, unmatched
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import TRAIN
from bakeoff.run.export import SAVED_MODEL, Export
from bakeoff.run.parse import Problems
from bakeoff.run.settings import Draft
from bakeoff.training.origin import RUN_ID, origin_of
from bakeoff.training.settings import Init, Train
from bakeoff.training.variant import Span

FITTING_OVERLAP = 0.5
MOST_UNFIT = 0.1  # share of boxes


@dataclass(frozen=True)
class Records:
    """What is known of the records; nothing where there are none."""

    manifest: Manifest | None
    boxes: np.ndarray | None = None  # (n, 4) of the training split, for detection


def check(
    draft: Draft,
    records: Records,
    facts: Facts | None,
    spans: Sequence[Span],
    problems: Problems,
    is_set: Callable[[str], bool],
) -> None:
    """Notes every mistake that shows in what could be read of the variant; `is_set` tells values from defaults."""
    manifest = records.manifest
    if draft.model and manifest:
        _check_task(draft.model, manifest, problems)
    if draft.model and draft.export:
        _check_formats(draft.export, draft.model, problems)
    if draft.train and spans:
        _check_rhythm(draft.train, spans, problems, is_set)
        _check_batches(draft.train, spans, manifest, problems)
    if draft.train and draft.model and facts:
        _check_patterns(draft.train, draft.model, facts, problems)
        if manifest:
            _check_start(draft.train.init, draft.model, facts, manifest, problems)
    if draft.model and draft.model.task == "detection" and records.boxes is not None:
        _check_anchors(draft.model, records.boxes, problems)


def _check_task(model: Network, manifest: Manifest, problems: Problems) -> None:
    if model.task != manifest.task:
        fitting = ", ".join(sorted(kind for kind, cls in NETWORKS.items() if cls.task == manifest.task))
        problems.add(
            "model", f"is for {model.task}, the records are for {manifest.task}; choose an option of kind {fitting}"
        )
    if manifest.multi_label and getattr(model, "background", False):
        problems.add(
            "model.background", "must be false where examples have several labels: one without any is background"
        )


def _check_formats(export: Export, model: Network, problems: Problems) -> None:
    """Training may take days, and export comes after it."""
    lacking = getattr(model, "beyond_lite", ())
    formats = list(export.formats)
    if lacking and formats != [SAVED_MODEL]:
        rule = f"must be [{SAVED_MODEL}] for {type(model).__name__}, got {formats}"
        problems.add("export.formats", f"{rule}; TensorFlow Lite has no {', '.join(lacking)}")


def _check_rhythm(train: Train, spans: Sequence[Span], problems: Problems, is_set: Callable[[str], bool]) -> None:
    steps, key = spans[-1].end_step, "train.checkpoint_every_steps"
    if train.checkpoint_every_steps > steps and is_set(key):
        problems.add(key, f"must be at most the run's {steps} steps, got {train.checkpoint_every_steps}")


def _check_batches(train: Train, spans: Sequence[Span], manifest: Manifest | None, problems: Problems) -> None:
    for place, span in enumerate(spans):
        own = bool(train.phases) and train.phases[place].batch_size is not None
        key = f"train.phases[{place}].batch_size" if own else "train.batch_size"
        if train.devices != "all" and span.batch_size % train.devices:
            problems.add(key, f"must be divisible by train.devices={train.devices}, got {span.batch_size}")
        examples = manifest.splits[TRAIN].examples if manifest else span.batch_size
        if span.batch_size > examples:
            problems.add(key, f"must be at most the {examples} training examples, got {span.batch_size}")


def _check_patterns(train: Train, model: Network, facts: Facts, problems: Problems) -> None:
    every = [variable.path for variable in facts.variables]
    learned = [variable.path for variable in facts.variables if variable.trainable]
    lists = {"train.init.warm_start": (every, train.init.warm_start), "train.trainable": (learned, train.trainable)}
    lists |= {
        f"train.phases[{place}].trainable": (learned, phase.trainable) for place, phase in enumerate(train.phases)
    }
    for key, (paths, patterns) in lists.items():
        for pattern, near in unmatched(paths, patterns, model.parts).items():
            nearest = f"nearest: {', '.join(near)}; " if near else ""
            problems.add(key, f"{pattern!r} matches no variable; {nearest}parts: {', '.join(model.parts)}")


def _check_start(init: Init, model: Network, facts: Facts, manifest: Manifest, problems: Problems) -> None:
    """Weights have to be there; those of another run know its classes, and a head for others cannot be carried over."""
    if init.weights == "imagenet" and not isinstance(model, Pretrained):
        problems.add("train.init.weights", "must be another start, for this network has no weights of ImageNet")
    if not RUN_ID.fullmatch(init.weights):  # the store is asked when the run starts
        try:
            origin_of(init, Path)
        except ConfigError as error:
            key, _, rule = str(error).partition(": ")
            problems.add(key, rule)
        else:
            check_first_weights(init, problems)
    start = Path(init.weights).expanduser()
    state = (start if start.is_dir() else start.parent) / "state.json"
    if not state.is_file():
        return
    try:
        classes = json.loads(state.read_text(encoding="utf-8")).get("classes")
    except (ValueError, AttributeError):
        problems.add("train.init.weights", f"{state.as_posix()} cannot be read")
        return
    loaded = select([variable.path for variable in facts.variables], init.warm_start or ("*",), model.parts)
    head = set(select(loaded, ("head",), model.parts))
    if head and classes is not None and list(classes) != list(manifest.classes):
        rest = ", ".join(part for part in model.parts if part != "head" and "." not in part)
        problems.add(
            "train.init.weights",
            f"was trained for the classes {', '.join(classes)}, the records have {', '.join(manifest.classes)}; "
            f"leave the head out: init.warm_start: [{rest}]",
        )


def _check_anchors(model: Network, boxes: np.ndarray, problems: Problems) -> None:
    anchors: np.ndarray = model.anchor_boxes()  # type: ignore[attr-defined]  # of every network for detection
    best = best_overlaps(anchors, boxes)
    unfit = float(np.mean(best < FITTING_OVERLAP)) if len(best) else 0.0
    if unfit > MOST_UNFIT:
        problems.warn(
            "model.anchors",
            f"{unfit:.0%} of the training boxes overlap no anchor by {FITTING_OVERLAP}; try other scales or ratios",
        )
