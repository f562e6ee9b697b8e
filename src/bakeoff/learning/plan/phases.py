"""A rendered variant as training sees it: its settings, the numbers derived from them, and what follows."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

from bakeoff.learning.input.memory_budget import Memory, Parts
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape, resizing_of
from bakeoff.learning.lr.schedule import Schedule
from bakeoff.learning.networks.letterbox import fit_of
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.tiles import tiles_of
from bakeoff.learning.plan.optimizers import Optimizer
from bakeoff.learning.plan.run_length import is_endless
from bakeoff.learning.plan.train_settings import Train

LEAST_SHOWN, DECAYS_SHOWN = 1000, 10  # steps, and times that a rate falls: of a run without an end
WHOLE_RUN = "all"  # the name of the one phase of a run without phases
RANGES_LEARN = 0.75  # of a phase in eight bits: after that the ranges stay, and the weights learn on in them


@dataclass(frozen=True)
class Span:
    """Where a phase lies in the run; part of what render_config derives."""

    name: str
    first_step: int  # of the run
    steps: int
    first_example: int  # position in the stream of training examples
    batch_size: int
    rate_factor: float  # of lr.scale_with_batch; 1 without

    @property
    def end_step(self) -> int:
        return self.first_step + self.steps


@dataclass(frozen=True)
class TrainingPhase:
    """A phase with everything filled in: what the step loop runs."""

    span: Span
    schedule: Schedule
    trainable: tuple[str, ...]  # none: everything
    start: Literal["last", "best"]
    quantize: bool = False

    @property
    def ranges_learn(self) -> int | None:
        """Return in how many of its steps ranges of eight bits are learnt; None if it does not compute in eight."""
        return math.ceil(RANGES_LEARN * self.span.steps) if self.quantize else None

    @property
    def shown_steps(self) -> int:
        """Return the steps over which its rate is shown; of a phase without an end those of its first turns."""
        if not is_endless(self.span.steps):
            return self.span.steps
        last_turn = max((step for step, _ in self.schedule.turns()), default=0)
        return max(LEAST_SHOWN, 2 * last_turn, DECAYS_SHOWN * (getattr(self.schedule, "decay_steps", None) or 0))

    def rate(self, step: int) -> float:
        """The learning rate of a step of the run."""
        return self.span.rate_factor * self.schedule(step - self.span.first_step)


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
    threads: int | None = None  # in one operation; None: one for each core of the machine that trains
    left_out_examples: int = 0  # of the training set, by train.share; train_examples are the others


class Variant(Protocol):
    """The parts of a rendered variant that decide a training."""

    @property
    def seed(self) -> int: ...
    @property
    def model(self) -> Network: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def lr(self) -> Schedule: ...
    @property
    def optimizer(self) -> Optimizer: ...
    @property
    def train(self) -> Train: ...
    @property
    def derived(self) -> Derived: ...


def plan_phases(run: Variant) -> list[TrainingPhase]:
    """Return what the step loop runs, one after the other."""
    train = run.train
    if not train.phases:
        return [TrainingPhase(run.derived.phases[0], run.lr, train.trainable, "last")]
    return [
        TrainingPhase(span, phase.lr or run.lr, phase.trainable or train.trainable, phase.start, phase.quantize)
        for span, phase in zip(run.derived.phases, train.phases, strict=True)
    ]


def plan_auto_phases(run: Variant) -> list[TrainingPhase]:
    """Return the phases that have no batch size of their own."""
    own = [phase.batch_size is not None for phase in run.train.phases] or [False]
    return [phase for phase, has_own in zip(plan_phases(run), own, strict=True) if not has_own]


def training_order(run: Variant) -> ExampleOrder:
    """Return the order in which training examples come."""
    return ExampleOrder(run.derived.train_examples, run.seed, run.derived.shuffle_windows)


def mixed_steps(run: Variant) -> int:
    """Return how many steps of the run, from its first, may mix examples."""
    return run.train.augment.mixed_steps(run.derived.steps)


def batch_shape(run: Variant, size: int) -> Shape:
    """Return what batches of `size` examples look like as this variant's network takes them."""
    model, derived = run.model, run.derived
    return Shape(
        derived.task,
        model.input_size,
        model.frames,
        size,
        derived.decode_threads,
        derived.prefetch_batches,
        several_labels=derived.num_classes if derived.multi_label else 0,
        central_crop=model.central_crop,
        sampling=model.sampling,
        resizing=resizing_of(model),
        tiles=tiles_of(model),
        fit=fit_of(model),
    )
