"""One step and one prediction, and that the same seed gives the same weights."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import SingleDigits
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.colour import Colour
from bakeoff.learning.input.augment.zoom import Zoom
from bakeoff.learning.input.batches import training_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks import weights
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.plan.optimizers import Momentum
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.tasks.task import compile_answer
from bakeoff.learning.training import loop
from bakeoff.learning.training.step import Calls, Step, _share
from support.slope import Slope, batches, sgd, weight_of


def test_regularisation_that_a_network_asks_for_is_part_of_the_loss() -> None:
    given = keras.Input((1,))
    square = keras.regularizers.L2(0.5)
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", kernel_regularizer=square)
    network = keras.Model(given, layer(given))
    losses = Step(network, sgd(network), Slope())(batches(4.0), tf.constant(0.1))  # type: ignore[arg-type]
    assert {name: float(value) for name, value in losses.items()} == pytest.approx(
        {"train/loss": 4.5, "train/loss_a": 2.0, "train/loss_b": 2.0, "train/loss_penalty": 0.5}
    )
    assert weight_of(network) == pytest.approx(1 - 0.1 * (4 + 0.5 * 2))  # the slope of 0.5 w² is w


def test_step_reads_every_weight_before_it_changes_it() -> None:
    """TensorFlow left to itself does so only now and then; hence many tries, each with a graph of its own."""
    losses, (batch,) = set(), batches(2.0)
    for _ in range(20):
        loop.seed_everything(3, deterministic=False)
        given = keras.Input((1,))
        hidden = keras.layers.Dropout(0.4)(keras.layers.Dense(4)(given))
        network = keras.Model(given, keras.layers.Dense(1)(hidden))
        taken = Step(network, sgd(network), Slope())([batch], tf.constant(0.1))  # type: ignore[arg-type]
        losses.add(float(taken["train/loss"]))
    assert len(losses) == 1


@pytest.mark.parametrize("devices", [1, 2, 3, 6])
def test_shares_of_devices_are_disjoint_and_together_the_batch(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = {"image": tf.range(12), "label": tf.range(100, 112)}
    shares = []
    for number in range(devices):
        context = SimpleNamespace(replica_id_in_sync_group=number)
        monkeypatch.setattr(tf.distribute, "get_replica_context", lambda context=context: context)
        shares.append(_share(batch, devices))
    assert np.concatenate([share["image"] for share in shares]).tolist() == list(range(12))
    assert np.concatenate([share["label"] for share in shares]).tolist() == list(range(100, 112))
    assert {len(share["image"]) for share in shares} == {12 // devices}


def test_step_updates_batch_norm_and_prediction_uses_what_it_learned() -> None:
    given = keras.Input((1,))
    network = keras.Model(given, keras.layers.BatchNormalization(momentum=0.75, epsilon=0.0)(given))
    values = tf.constant([[2.0], [6.0]])  # mean 4, variance 4
    step = Step(network, sgd(network), Slope())  # type: ignore[arg-type]
    step([{"image": values, "factor": tf.ones([2, 1])}], tf.constant(0.0))
    predict = compile_answer(network, Slope())  # type: ignore[arg-type]
    mean, variance = 0.25 * 4, 0.75 * 1 + 0.25 * 4
    expected = 1 + (values - mean) / math.sqrt(variance)
    np.testing.assert_allclose(predict({"image": values})["answer"], expected, rtol=1e-5)


# The same seed.


@pytest.fixture
def digits(tmp_path: Path, open_store: Callable[[Path, Split], RecordReader]) -> RecordReader:
    from bakeoff.dataset.building.write_shards import write_split

    source = SingleDigits(train_examples=12, side=20)
    return open_store(tmp_path, write_split(source, TRAIN, tmp_path))


def trained_digest(store: RecordReader, seed: int, decode_threads: int = 2) -> str:
    loop.seed_everything(seed, deterministic=True)
    settings = Cnn(input_size=16, width=0.25, dropout=0.3)
    network, task = settings.build(10), Classification(settings, [str(digit) for digit in range(10)])
    upcoming = training_batches(
        store,
        Shape("classification", 16, 1, 4, decode_threads, 2),
        order=ExampleOrder(12, seed),
        steps=range(4),
        augment=Augment(zoom=Zoom(smallest=0.7), colour=Colour(brightness=0.2)),
        encode=task.encode,
    )
    step = Step(network, Momentum().build(network), task)
    calls = Calls(step, upcoming, together=1, at_once="auto")
    for _ in range(4):
        calls.take([0.01])
    return weights.digest(network)


def test_same_seed_gives_the_same_weights_to_the_bit(digits: RecordReader, deterministic_operations: None) -> None:
    first = trained_digest(digits, seed=5)
    assert trained_digest(digits, seed=5, decode_threads=4) == first
    assert trained_digest(digits, seed=6) != first
