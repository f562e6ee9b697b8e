"""What a training works with, built from a rendered variant and its records: the network, its batches, its looks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tensorflow as tf

from bakeoff.input.batches import evaluation_batches
from bakeoff.input.shape import Shape
from bakeoff.input.store import BadRecords, Store
from bakeoff.records.manifest import Manifest
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.tasks.task import Task, task_of
from bakeoff.training.devices import strategy_of
from bakeoff.training.feed import Feed
from bakeoff.training.learner import Learner, new_learner
from bakeoff.training.loop import seed_everything
from bakeoff.training.samples import Samples, evenly_spread
from bakeoff.training.validation import Validation, judged_by
from bakeoff.training.variant import Variant, batch_shape, plan_phases, training_order


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
        strategy = strategy_of(run.train.devices, [leg.span.batch_size for leg in plan_phases(run)])
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
        shape_of = shape_of or partial(batch_shape, self.run)
        return Feed.of(self.run.train, self.examples, training_order(self.run), self.task, shape_of)

    def looks(self, samples_in: Path, is_unwanted: Callable[[], bool]) -> tuple[Validation, Samples]:
        """At validation, each ended early if it is unwanted; and what draws a few examples of each."""
        train = self.run.train
        looked_at = evenly_spread(train.validate_examples or self.held_out.examples, self.held_out.examples)
        drawn = looked_at[evenly_spread(train.samples, len(looked_at))]
        samples = Samples(samples_in, self.task, self.classes, drawn)
        batches = evaluation_batches(self.held_out, batch_shape(self.run, train.batch), looked_at)
        validation = Validation(
            self.task,
            self.learner.kept,
            batches,
            examples=len(looked_at),
            is_unwanted=is_unwanted,
            samples=samples,
        )
        return validation, samples
