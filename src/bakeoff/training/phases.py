"""Legs of a run: train the head first, then everything, then everything slowly (`train.phases`).

A run without phases is one leg. Steps of a run count on from leg to leg; each leg's schedule counts from 0.
"""

from dataclasses import dataclass, field
from typing import Literal

from bakeoff.errors import require
from bakeoff.lr import SCHEDULES, Schedule
from bakeoff.training.length import require_length

WHOLE_RUN = "all"  # the name of the one leg of a run without phases


@dataclass(frozen=True)
class Phase:
    """What a leg does otherwise than the run's `train` and `lr` groups say."""

    name: str
    steps: int | None = None  # either these
    epochs: float | None = None  # or these, or an equal share of train.steps or train.epochs
    batch_size: int | None = None  # None: train.batch_size
    lr: Schedule | None = field(default=None, metadata={"kinds": SCHEDULES})  # None: the group `lr`
    trainable: tuple[str, ...] = ()  # patterns or part names; none: train.trainable
    start: Literal["last", "best"] = "last"  # from which weights of the phase before

    def __post_init__(self) -> None:
        plain = self.name.replace("_", "").replace("-", "")
        require(plain.isascii() and plain.isalnum(), "name", self.name, "made of letters, digits, - and _")
        if self.has_length:
            require_length(self.steps, self.epochs)
        require(self.batch_size is None or self.batch_size >= 1, "batch_size", self.batch_size, "1 or more, or null")

    @property
    def has_length(self) -> bool:
        return self.steps is not None or self.epochs is not None


@dataclass(frozen=True)
class Span:
    """Where a leg lies in the run; part of what render_config derives."""

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
class Leg:
    """A phase with everything filled in: what the step loop runs."""

    span: Span
    schedule: Schedule
    trainable: tuple[str, ...]  # none: everything
    start: Literal["last", "best"]

    def rate(self, step: int) -> float:
        """The learning rate of a step of the run."""
        return self.span.rate_factor * self.schedule(step - self.span.first_step)
