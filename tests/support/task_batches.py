"""Seven examples of each task, all their changes, and the ways to batch them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.dataset.records.record import Record
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.crop import SsdCrop
from bakeoff.learning.input.augment.expand import Expand
from bakeoff.learning.input.augment.turn import Turn
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.batches import evaluation_batches, training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.anchors import Anchors
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.networks.network import Sampling
from bakeoff.learning.networks.ssd import Ssd
from bakeoff.learning.tasks.task import make_task

EXAMPLES = 7
CLASSES = tuple("abcdefg")
SIZE = {"detection": 32, "classification": 16, "video": 16}
MODELS = {
    "detection": Ssd(input_size=32, anchors=Anchors(scale=1.0, aspect_ratios=(1.0,))),
    "classification": Cnn(input_size=16),
    "video": ClipCnn(input_size=16, frames=3),
}
ANY_PART = {task: {"sampling": Sampling("part")} if task == "video" else {} for task in MODELS}  # of a clip
STEPS = ("brightness", "contrast", "saturation", "hue")
CHANGES = Augment(
    expand=Expand(largest=1.5),
    crop=SsdCrop(),
    zoom=Zoom(smallest=0.6, largest=1.3),
    resize=("smooth", "nearest"),
    turn=Turn(mirror=0.5, upside_down=0.5, quarter=0.5),
    colour=Colour(brightness=0.2, contrast=0.2, saturation=0.3, hue=0.2, grey=0.1, orders=(STEPS, STEPS[::-1])),
)


Batches = list[tuple[np.ndarray, dict[str, np.ndarray]]]


def taken(batches: tf.data.Dataset) -> Batches:
    """Images and targets of every batch."""
    return [(batch.pop("image"), batch) for batch in batches.as_numpy_iterator()]


@dataclass(frozen=True)
class Batcher:
    """Seven examples of one task, each with a class of its own, and the ways to batch them."""

    task: str
    records: list[Record]
    raw: list[list[np.ndarray]]  # the pixels of each example's frames
    store: RecordReader

    @property
    def shape(self) -> Shape:
        frames = 3 if self.task == "video" else 1
        return Shape(self.task, SIZE[self.task], frames, batch_size=3, decode_threads=2, prefetch_batches=2)

    def training_dataset(
        self, steps: range, *, seed: int = 0, augment: Augment = CHANGES, **shape: Any
    ) -> tf.data.Dataset:
        return training_batches(
            self.store,
            replace(self.shape, **shape),
            order=ExampleOrder(EXAMPLES, seed),
            steps=steps,
            augment=augment,
            encode=make_task(MODELS[self.task], CLASSES).encode,
        )

    def training(self, steps: range, **more: Any) -> Batches:
        return taken(self.training_dataset(steps, **more))

    def evaluation(self, **shape: int) -> list[dict[str, np.ndarray]]:
        return list(evaluation_batches(self.store, replace(self.shape, **shape)).as_numpy_iterator())
