"""Which examples a step of a leg takes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import SingleDigits
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.lr.decays import Constant
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.plan.phases import Span, TrainingPhase
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.training.setup import Feed


def test_a_leg_goes_on_in_the_order_of_examples_where_the_one_before_ended(
    tmp_path: Path, open_store: Callable[[Path, Split], RecordReader]
) -> None:
    store = open_store(tmp_path, write_split(SingleDigits(train_examples=12, side=20), TRAIN, tmp_path))
    read, asked = store.read, []

    def noted(examples: np.ndarray) -> list[bytes]:
        asked.extend(examples.tolist())
        return read(examples)

    store.read = noted  # type: ignore[method-assign]
    task = Classification(Cnn(input_size=16), [str(digit) for digit in range(10)])
    feed = Feed(
        store,
        order=ExampleOrder(12, 5),
        augment=Augment(),
        encode=task.encode,
        shape_of=lambda size: Shape("classification", 16, 1, size, 2, 1),
        together=2,
    )
    span = Span("whole", first_step=3, steps=4, first_example=5, batch_size=2, rate_factor=1.0)
    leg = TrainingPhase(span, Constant(1.0), (), "last")
    upcoming = iter(feed.batches(leg, range(4, 6)))
    assert isinstance(upcoming, tf.data.Iterator)  # so that a graph can take several steps in one call
    given = list(upcoming)
    # The leg's second and third step, each of two batches of two: places 5 + 4 to 5 + 12 of the stream.
    first, second = (np.random.default_rng([5, epoch]).permutation(12) for epoch in (0, 1))
    assert asked == [*first[9:12], *second[0:5]]
    assert [batch["image"].shape[0] for batch in given] == [2, 2, 2, 2]
    # The step after which five are done is the leg's second: its examples, by their names.
    assert feed.names(leg, 5) == ", ".join(f"train/{number:06d}" for number in [*first[9:12], second[0]])
