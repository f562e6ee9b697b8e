from collections.abc import Callable, Sequence
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Record
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.batches import evaluation_batches, training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.cnn import ClipCnn, Cnn
from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.tasks.task import compile_answer, judge, make_task
from bakeoff.learning.training.step import Step

CLASSES = ("ant", "bee", "cow")
LABELS: Sequence[tuple[str, ...]] = [("cow", "ant"), (), ("bee",), ("ant", "bee", "cow"), ("ant",), ("cow",)]
VECTORS = [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 0, 0], [0, 0, 1]]
MODELS = {
    "classification": Cnn(input_size=16, width=0.5, dropout=0.0),
    "video": ClipCnn(input_size=16, frames=2, width=0.5),
}
SHAPES = {
    task: Shape(task, 16, model.frames, batch_size=3, decode_threads=2, prefetch_batches=2, several_labels=3)
    for task, model in MODELS.items()
}


@pytest.fixture
def stores(
    png: Callable[[np.ndarray], bytes],
    write_train: Callable[..., Split],
    open_store: Callable[[Path, Split], RecordReader],
    tmp_path: Path,
) -> Callable[[str], RecordReader]:
    """Records of noise with the labels above, as a store, by task."""

    def store(task: str) -> RecordReader:
        draw = np.random.default_rng(0)
        frames = 2 if task == "video" else 1
        records = [
            Record(
                f"train/{number}",
                tuple(png(draw.integers(0, 256, (16, 16, 3), np.uint8)) for _ in range(frames)),
                16,
                16,
                labels=labels,
                frames_per_second=2.0 * (task == "video"),
            )
            for number, labels in enumerate(LABELS)
        ]
        return open_store(tmp_path, write_train(records, CLASSES))

    return store


@pytest.mark.parametrize("task", ["classification", "video"])
def test_batches_hold_a_vector_of_labels(task: str, stores: Callable[[str], RecordReader]) -> None:
    batches = list(evaluation_batches(stores(task), SHAPES[task]).as_numpy_iterator())
    labels = np.concatenate([batch["labels"] for batch in batches])
    assert labels.dtype == np.float32 and labels.tolist() == VECTORS
    assert not any("label" in batch for batch in batches)


@pytest.mark.parametrize("task", ["classification", "video"])
def test_network_learns_which_labels_an_example_has(task: str, stores: Callable[[str], RecordReader]) -> None:
    keras.utils.set_random_seed(0)
    model, shape, store = MODELS[task], SHAPES[task], stores(task)
    network, learned = model.build(3), make_task(model, CLASSES, multi_label=True)
    batches = training_batches(
        store, shape, order=ExampleOrder(6, 0), steps=range(80), augment=Augment(), encode=learned.encode
    )
    step = Step(network, Momentum().build(network), learned)  # which is compiled twice as fast as Adam
    for batch in batches:
        assert batch["labels"].shape == (3, 3)
        step([batch], tf.constant(0.03))
    answers = {"network": compile_answer(network, learned)}
    result = judge(learned, answers, evaluation_batches(store, shape))["network"].result()
    assert result["mean_average_precision"] == 1.0 and result["f1"] > 0.9
