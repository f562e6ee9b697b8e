"""The first examples of a training as its network gets them, changed and mixed, with their truth on one sheet."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.evaluation.drawing import draw_truth
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.plan.phases import Variant, batch_shape, training_order

if TYPE_CHECKING:
    from PIL import Image

    from bakeoff.learning.input.record_reader import RecordReader

TRUTH = ("boxes", "classes", "label", "labels")


def is_augmented(run: Variant) -> bool:
    augment = run.train.augment
    return augment != Augment(until=augment.until, decode=augment.decode)


def draw_augmented(run: Variant, store: "RecordReader", classes: Sequence[str], count: int) -> "Image.Image":
    """Draw so many of the training's examples, or all there are; those that each step mixes, as long as it does."""
    return draw_truth(_examples(run, store, min(count, store.examples)), classes)


def _examples(run: Variant, store: "RecordReader", count: int) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    from bakeoff.learning.input.batches import first_examples
    from bakeoff.learning.input.record_reader import plain_errors_of

    order = training_order(run)
    with plain_errors_of(store):
        for example in first_examples(store, batch_shape(run, 1), order=order, augment=run.train.augment, count=count):
            yield example["image"].numpy(), {name: example[name].numpy() for name in TRUTH if name in example}
