"""The first examples of a training as its network gets them, changed and mixed, with their truth on one sheet."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.input.augment import Augment
from bakeoff.tasks.pictures import draw_truth
from bakeoff.training.variant import Variant, batch_shape, training_order

if TYPE_CHECKING:
    from PIL import Image

    from bakeoff.input.store import Store
    from bakeoff.tasks.task import Tensors

TRUTH = ("boxes", "classes", "label", "labels")


def is_augmented(run: Variant) -> bool:
    return run.train.augment != Augment(until=run.train.augment.until)


def draw_augmented(run: Variant, store: "Store", classes: Sequence[str], count: int) -> "Image.Image":
    """Draw so many of the training's examples, or all there are; those that each step mixes, as long as it does."""
    return draw_truth(_examples(run, store, min(count, store.examples)), classes)


def _examples(run: Variant, store: "Store", count: int) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    from bakeoff.input.batches import training_batches
    from bakeoff.input.store import plain_errors_of

    def keep_truth(example: "Tensors") -> "Tensors":
        return {name: example[name] for name in TRUTH if name in example}

    batches = training_batches(
        store, batch_shape(run, 1), order=training_order(run), steps=range(count), augment=run.train.augment,
        encode=keep_truth,
    )  # fmt: skip
    with plain_errors_of(store):
        for batch in batches.as_numpy_iterator():
            values = {name: value[0] for name, value in batch.items()}
            yield values.pop("image"), values
