"""The batches of a leg, from any of its steps on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from bakeoff.input.augment import Augment
from bakeoff.input.batches import training_batches
from bakeoff.input.order import Order
from bakeoff.input.shape import Shape
from bakeoff.input.store import Store
from bakeoff.tasks.task import Task, Tensors
from bakeoff.training.phases import Leg
from bakeoff.training.settings import Train
from bakeoff.training.step import Batch

MOST_NAMES = 64  # that a message shows


@dataclass(frozen=True)
class Feed:
    store: Store
    order: Order
    augment: Augment
    encode: Callable[[Tensors], Tensors]
    shape_of: Callable[[int], Shape]  # by batch size
    together: int  # batches that make one step

    @classmethod
    def of(cls, train: Train, store: Store, seed: int, task: Task, shape_of: Callable[[int], Shape]) -> "Feed":
        return cls(
            store,
            order=Order(store.examples, seed),
            augment=train.augment,
            encode=task.encode,
            shape_of=shape_of,
            together=train.accumulate_batches,
        )

    def batches(self, leg: Leg, steps: range) -> Iterable[Batch]:
        """Of these steps of the run; a step takes the same examples wherever `steps` starts."""
        first = leg.span.first_step
        return training_batches(
            self.store,
            self.shape_of(leg.span.batch_size),
            order=self.order,
            steps=range((steps.start - first) * self.together, (steps.stop - first) * self.together),
            first_example=leg.span.first_example,
            augment=self.augment,
            encode=self.encode,
        )

    def names(self, leg: Leg, done: int) -> str:
        """Of the examples that the step after which `done` are done was made of."""
        size = leg.span.batch_size * self.together
        first = leg.span.first_example + (done - 1 - leg.span.first_step) * size
        _, examples = self.order.at(np.arange(first, first + size))
        names = self.store.names(examples[:MOST_NAMES])
        more = f" and {size - len(names)} more" if size > len(names) else ""
        return f"{', '.join(names)}{more}"
