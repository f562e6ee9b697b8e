"""What a training works with, built from a rendered variant and its records: network, batches, validation."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.foundation.errors import ConfigError, choices
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.batches import Portion, evaluation_batches, training_batches
from bakeoff.learning.input.record_reader import BadRecords, RecordReader, plain_errors_of
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.subset import draw_share
from bakeoff.learning.input.view import Shape
from bakeoff.learning.metrics.names import BY_HEADLINE
from bakeoff.learning.plan.phases import TrainingPhase, Variant, batch_shape, mixed_steps, plan_phases, training_order
from bakeoff.learning.tasks.lessons import Lessons
from bakeoff.learning.tasks.task import Answer, Task, Tensors, compile_answer, judge, make_task
from bakeoff.learning.tasks.teacher_answers import TeacherAnswers
from bakeoff.learning.training.accelerators import own_devices, strategy_of
from bakeoff.learning.training.loop import seed_everything
from bakeoff.learning.training.trainer_state import Learner, new_learner
from bakeoff.learning.training.workers import WorkerAddress

MOST_NAMES = 64  # that a message shows
REHEARSED = 3  # batches


@dataclass(frozen=True)
class Setup:
    """The parts of a training that follow from the variant and its records alone."""

    run: Variant
    classes: Sequence[str]
    strategy: tf.distribute.Strategy
    task: Task
    headline: str  # of the metrics of validation: by which the best weights are chosen
    learner: Learner
    examples: RecordReader
    held_out: RecordReader
    bad: BadRecords
    place: WorkerAddress | None = None  # among several workers; None: this process trains alone
    lessons: Lessons | None = None  # of a teacher

    @classmethod
    def of(
        cls, run: Variant, manifest: Manifest, records: Path, place: WorkerAddress | None = None,
        answers: TeacherAnswers | None = None,
    ) -> "Setup":  # fmt: skip
        """Build all of it, with random weights. `answers` of a teacher are to all examples, also of a share."""
        strategy = strategy_of(run.train.devices, [phase.span.batch_size for phase in plan_phases(run)], place)
        seed_everything(run.seed, deterministic=run.train.deterministic)
        task = make_task(run.model, manifest.classes, multi_label=manifest.multi_label)
        learner = new_learner(run.model, len(manifest.classes), task, run.optimizer, run.train, strategy)
        bad = BadRecords()
        only = {TRAIN: draw_share(manifest.splits[TRAIN].examples, run.train.share, run.seed)}
        examples, held_out = (
            RecordReader(records, manifest.splits[split], run.memory.on_bad_record, bad.of(split), only.get(split))
            for split in (TRAIN, VALIDATION)
        )
        headline = choose_headline(task, run.train.best_by)
        lessons = None
        if answers:
            whole = RecordReader(records, manifest.splits[TRAIN], run.memory.on_bad_record, bad.of(TRAIN))
            lessons = Lessons.of(whole, answers, run.train.teacher)
            examples.rewrite = lessons.rewrite
        return cls(run, manifest.classes, strategy, task, headline, learner, examples, held_out, bad, place, lessons)

    @property
    def replicas(self) -> int:
        """Return how many devices of this machine train."""
        return own_devices(self.strategy)

    def feed(self, shape_of: Callable[[int], Shape] | None = None) -> "Feed":
        return Feed(
            self.examples,
            order=training_order(self.run),
            augment=self.run.train.augment,
            encode=self.lessons.encode(self.task.encode) if self.lessons else self.task.encode,
            shape_of=shape_of or partial(batch_shape, self.run),
            together=self.run.train.accumulate_batches,
            share=(self.place.rank, self.place.count) if self.place else (0, 1),
            mixed_steps=mixed_steps(self.run),
        )

    def plain_errors(self) -> AbstractContextManager[None]:
        """Let what a store says of a record that cannot be read be the error of the block."""
        return plain_errors_of(self.examples, self.held_out)

    def validation(self, is_unwanted: Callable[[], bool] = lambda: False) -> "Validation":
        """Return what validates the network as it is; it is broken off when it is unwanted."""
        train = self.run.train
        validated = evenly_spread(train.validate_examples or self.held_out.examples, self.held_out.examples)
        return Validation(
            self.task,
            compile_answer(self.learner.network, self.task, with_losses=True),
            evaluation_batches(self.held_out, batch_shape(self.run, train.batch), validated),
            examples=len(validated),
            is_unwanted=is_unwanted,
            pictures=Pictures(self.task, validated[evenly_spread(train.samples, len(validated))]),
        )


@dataclass(frozen=True)
class Feed:
    """The batches of a phase, from any of its steps on."""

    store: RecordReader
    order: ExampleOrder
    augment: Augment
    encode: Callable[[Tensors], Tensors]
    shape_of: Callable[[int], Shape]  # by batch size
    together: int  # batches that make one step
    share: tuple[int, int] = (0, 1)  # which part of each batch this process takes, of how many
    mixed_steps: int | None = None  # of the run, from its first; None: all

    def batches(self, phase: TrainingPhase, steps: range) -> Iterable[Tensors]:
        """Return those of these steps of the run; a step takes the same examples wherever `steps` starts."""
        first = phase.span.first_step
        start, stop = ((step - first) * self.together for step in (steps.start, steps.stop))
        end = None if self.mixed_steps is None else (self.mixed_steps - first) * self.together
        is_mixed = end is None or end > start  # else a smaller graph does
        return training_batches(
            self.store,
            self.shape_of(phase.span.batch_size),
            order=self.order,
            steps=range(start, stop),
            augment=self.augment if is_mixed else self.augment.unmixed,
            encode=self.encode,
            portion=Portion(phase.span.first_example, end, self.share),
        )

    def images(self, phase: TrainingPhase, most: int) -> Iterator[tf.Tensor]:
        """Yield those of the first batches of a phase, whole on each worker, until there are `most`."""
        batches = -(-most // phase.span.batch_size)
        steps = min(phase.span.steps, -(-batches // self.together))
        first = phase.span.first_step
        whole = replace(self, share=(0, 1)).batches(phase, range(first, first + steps))
        return (batch["image"] for batch in whole)

    def names(self, phase: TrainingPhase, done: int) -> str:
        """Return those of the examples that the step after which `done` are done was made of."""
        size = phase.span.batch_size * self.together
        first = phase.span.first_example + (done - 1 - phase.span.first_step) * size
        _, examples = self.order.at(np.arange(first, first + size))
        names = self.store.names(examples[:MOST_NAMES])
        more = f" and {size - len(names)} more" if size > len(names) else ""
        return f"{', '.join(names)}{more}"


def evenly_spread(count: int, examples: int) -> np.ndarray:
    """Return so many numbers of examples, or all there are; always the same."""
    count = min(count, examples)
    return np.arange(count) * examples // max(1, count)


class Pictures:
    """The same few examples at each validation pass, with what the network answers to them."""

    def __init__(self, task: Task | None = None, numbers: Sequence[int] | np.ndarray = ()) -> None:
        self._task, self._numbers = task, numbers
        self.seen: list[tuple[np.ndarray, dict]] = []  # in the last pass; a pass may have been broken off

    @property
    def images(self) -> list[np.ndarray]:
        return [image for image, _ in self.seen]

    def watch(self, batch: Tensors, predictions: Tensors) -> None:
        rows = np.flatnonzero(np.isin(batch["number"].numpy(), self._numbers)) if len(self._numbers) else ()
        if self._task and len(rows):
            those, answers = (
                {key: tf.gather(value, rows) for key, value in part.items()} for part in (batch, predictions)
            )
            self.seen += self._task.iterate_pictures(those, answers)


class Validation:
    """Scores the network on held-out examples. It draws no random numbers, so that it changes no weight."""

    def __init__(
        self,
        task: Task,
        answer: Answer,
        batches: Iterable[Tensors],
        *,
        examples: int,
        is_unwanted: Callable[[], bool] = lambda: False,
        pictures: Pictures | None = None,
    ) -> None:
        """One that becomes unwanted is broken off."""
        self._task, self._answer, self._batches = task, answer, batches
        self._examples, self._is_unwanted = examples, is_unwanted
        self.pictures = pictures or Pictures()

    def __call__(self) -> dict[str, Any] | None:
        """Return all numbers of the score; None if it was broken off."""
        self.pictures.seen = []
        score = judge(self._task, {"network": self._answer}, self._wanted(), self.pictures.watch)["network"]
        return None if self._is_unwanted() else score.result()

    def seconds(self) -> float:
        """Return about how long one takes, from a few batches. Builds the graphs that it needs."""
        longest, start = 0.0, time.monotonic()
        for number, batch in enumerate(islice(self._batches, REHEARSED)):
            size = len(batch["image"])
            if number == 0:
                self._score(batch)
                self._score({name: value[: self._examples % size or size] for name, value in batch.items()})
                start = time.monotonic()
            self._score(batch)
            longest, start = max(longest, (time.monotonic() - start) / size), time.monotonic()
        return longest * self._examples

    def _score(self, batch: Tensors) -> None:
        self._task.judge(batch, self._answer(batch)).result()

    def _wanted(self) -> Iterator[Tensors]:
        for batch in self._batches:
            if self._is_unwanted():
                return
            yield batch


def choose_headline(task: Task, best_by: str | None) -> str:
    """Return the number of a validation that says which weights are best."""
    allowed = BY_HEADLINE[task.headline].choices
    if best_by is not None and best_by not in allowed:
        raise ConfigError(f"train.best_by: no such metric {best_by!r}; {choices(best_by, allowed)}")
    return best_by or task.headline
