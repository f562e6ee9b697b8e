"""What is wrong, or odd, only when several keys and the records are seen together."""

from collections.abc import Callable, Sequence

from bakeoff.config.parse import Problems
from bakeoff.config.run import Draft
from bakeoff.networks import NETWORKS, Network
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import TRAIN
from bakeoff.training.phases import Span
from bakeoff.training.settings import Train


def check(
    draft: Draft,
    manifest: Manifest | None,
    spans: Sequence[Span],
    problems: Problems,
    is_set: Callable[[str], bool],
) -> None:
    """Notes every mistake that shows in what could be read of the variant; `is_set` tells values from defaults."""
    if draft.model and manifest:
        _check_task(draft.model, manifest, problems)
    if draft.train and spans:
        _check_rhythm(draft.train, spans, problems, is_set)
        _check_batches(draft.train, spans, manifest, problems)


def _check_task(model: Network, manifest: Manifest, problems: Problems) -> None:
    if model.task != manifest.task:
        fitting = ", ".join(sorted(kind for kind, cls in NETWORKS.items() if cls.task == manifest.task))
        problems.add(
            "model",
            f"is for {model.task}, the records are for {manifest.task}; choose an option of kind {fitting}",
        )


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
