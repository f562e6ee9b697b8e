"""What a training works with, built from a rendered variant and its records: the network, its batches, its looks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import tensorflow as tf

from bakeoff.input.bad_records import BadRecords
from bakeoff.input.batches import evaluation_batches
from bakeoff.input.memory import Memory
from bakeoff.input.order import Order
from bakeoff.input.shape import Shape
from bakeoff.input.store import Store
from bakeoff.networks import Network
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.tasks.task import Task, task_of
from bakeoff.training.devices import strategy_of
from bakeoff.training.feed import Feed
from bakeoff.training.learner import Learner, new_learner
from bakeoff.training.loop import seed_everything
from bakeoff.training.optimizers import Optimizer
from bakeoff.training.phases import Leg
from bakeoff.training.samples import Samples, evenly_spread
from bakeoff.training.settings import Train
from bakeoff.training.validation import Validation, judged_by


class Variant(Protocol):
    """What is read of it."""

    @property
    def seed(self) -> int: ...
    @property
    def model(self) -> Network: ...
    @property
    def optimizer(self) -> Optimizer: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def train(self) -> Train: ...
    @property
    def legs(self) -> Sequence[Leg]: ...
    @property
    def order(self) -> Order: ...

    def batches_of(self, size: int) -> Shape: ...


@dataclass(frozen=True)
class Rig:
    run: Variant
    classes: Sequence[str]
    strategy: tf.distribute.Strategy
    task: Task
    headline: str  # of the metrics of validation: by which the best weights are chosen
    learner: Learner
    examples: Store
    held_out: Store

    @classmethod
    def of(cls, run: Variant, manifest: Manifest, records: Path, bad: BadRecords | None = None) -> "Rig":
        """With random weights. Damaged records are counted in `bad`."""
        strategy = strategy_of(run.train.devices, [leg.span.batch_size for leg in run.legs])
        seed_everything(run.seed, deterministic=run.train.deterministic)
        task = task_of(run.model, manifest.classes, multi_label=manifest.multi_label)
        learner = new_learner(run.model, len(manifest.classes), task, run.optimizer, run.train, strategy)
        bad = bad or BadRecords()
        examples, held_out = (
            Store(records, manifest.splits[split], run.memory.on_bad_record, bad.of(split))
            for split in (TRAIN, VALIDATION)
        )
        headline = judged_by(task, run.train.best_by)
        return cls(run, manifest.classes, strategy, task, headline, learner, examples, held_out)

    @property
    def replicas(self) -> int:
        return self.strategy.num_replicas_in_sync

    def feed(self, shape_of: Callable[[int], Shape] | None = None) -> Feed:
        return Feed.of(self.run.train, self.examples, self.run.order, self.task, shape_of or self.run.batches_of)

    def looks(self, samples_in: Path, is_unwanted: Callable[[], bool]) -> tuple[Validation, Samples]:
        """At validation, each ended early if it is unwanted; and what draws a few examples of each."""
        train = self.run.train
        looked_at = evenly_spread(train.validate_examples or self.held_out.examples, self.held_out.examples)
        drawn = looked_at[evenly_spread(train.samples, len(looked_at))]
        samples = Samples(samples_in, self.task, self.classes, drawn)
        batches = evaluation_batches(self.held_out, self.run.batches_of(train.batch), looked_at)
        validation = Validation(
            self.task,
            self.learner.kept,
            batches,
            examples=len(looked_at),
            is_unwanted=is_unwanted,
            samples=samples,
        )
        return validation, samples
