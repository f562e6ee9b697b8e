"""The same examples at each validation pass, and what is kept of them."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import psutil
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.dataset.building.write_shards import write_split
from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.sources.synthetic_digits import SingleDigits
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_state import Position
from bakeoff.learning.input.batches import evaluation_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.tasks.classification import Classification
from bakeoff.learning.tasks.task import compile_answer
from bakeoff.learning.training.average import Average
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.setup import Pictures, Validation, evenly_spread
from bakeoff.learning.training.trainer_state import keras_random_state, random_states_outside_keras
from bakeoff.tracking.callbacks.sample_sheets import SampleSheets
from bakeoff.tracking.callbacks.tensorboard import ENOUGH, Events, TensorBoard, layer_answers

DIGITS = [str(digit) for digit in range(10)]


def test_numbers_are_spread_evenly_and_never_more_than_there_are() -> None:
    assert evenly_spread(4, 10).tolist() == [0, 2, 5, 7]
    assert evenly_spread(10, 10).tolist() == evenly_spread(99, 10).tolist() == list(range(10))
    assert evenly_spread(0, 10).tolist() == []
    assert len(set(evenly_spread(97, 150))) == 97


class Kitchen:
    """A classifier that is validated, on 11 digits, with the callbacks that show it."""

    def __init__(
        self,
        folder: Path,
        store: RecordReader,
        drawn: list[int],
        looked_at: list[int] | None = None,
        most_bytes: int = 10**9,
    ) -> None:
        self.folder, self.out = folder, folder / "out"
        self.task = Classification(Cnn(input_size=16, width=0.25), DIGITS)
        self.network = self.task.model.build(10)
        self.pictures = Pictures(self.task, np.array(drawn, int))
        numbers = None if looked_at is None else np.array(looked_at)
        batches = evaluation_batches(store, Shape("classification", 16, 1, 4, 2, 1), numbers)
        self.unwanted = False
        self.validate = Validation(
            self.task,
            compile_answer(self.network, self.task),
            batches,
            examples=11,
            is_unwanted=lambda: self.unwanted,
            pictures=self.pictures,
        )
        self.sheets_of = SampleSheets(folder, DIGITS, self.out, most_bytes / 1e6)
        self.gradients: dict[str, np.ndarray] = {}
        self.training: Any = SimpleNamespace(
            history=[], headline="accuracy", pictures=self.pictures, position=Position(0, 0),
            learner=SimpleNamespace(network=self.network, kept=self.kept), count_gradients=lambda step: self.gradients,
        )  # fmt: skip
        self.sheets_of.on_start(self.training)
        self.average: Average | None = None

    @contextmanager
    def kept(self) -> Iterator[keras.Model]:
        with self.average.in_network() if self.average else nullcontext():
            yield self.network

    def look(self, step: int, accuracy: float, *others: Callback) -> None:
        line = LogLine(step, {"validation/accuracy": accuracy})
        self.training.history.append(line)
        self.validate()
        for callback in (self.sheets_of, *others):
            callback.on_validation(line, 0.1)

    def end(self) -> None:
        self.out.mkdir()
        self.sheets_of.on_end(SimpleNamespace())  # type: ignore[arg-type]

    def events(self, *, with_gradients: bool = False) -> TensorBoard:
        board = TensorBoard(self.folder, with_gradients=with_gradients)
        board.on_start(self.training)
        return board

    @property
    def steps(self) -> list[int]:
        """Of the sheets."""
        return [int(name.removesuffix(".jpg")) for name in self.sheets]

    @property
    def sheets(self) -> list[str]:
        return sorted(file.name for file in (self.folder / "samples").iterdir())


@pytest.fixture
def store(tmp_path: Path, open_store: Callable[[Path, Split], RecordReader]) -> RecordReader:
    return open_store(tmp_path, write_split(SingleDigits(train_examples=11, side=20), TRAIN, tmp_path))


def test_the_examples_drawn_are_those_asked_for_at_each_look(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [0, 5, 10])
    wanted = [batch["image"].numpy() for batch in kitchen.validate._batches]
    expected = np.concatenate(wanted)[[0, 5, 10]]
    for step in (1, 2):
        kitchen.look(step, 0.5)
        np.testing.assert_array_equal(np.stack(kitchen.pictures.images), expected)
    with Image.open(tmp_path / "samples/00000001.jpg") as sheet:
        assert sheet.size == (3 * (256 + 12) + 12, 256 + 2 * 20 + 2 * 12)


def test_part_of_the_validation_set_is_the_same_part_each_time(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [8], looked_at=[1, 4, 8])
    everything = Kitchen(tmp_path, store, [])
    every = np.concatenate([batch["label"].numpy() for batch in everything.validate._batches])
    for _ in range(2):
        labels = np.concatenate([batch["label"].numpy() for batch in kitchen.validate._batches])
        assert labels.tolist() == every[[1, 4, 8]].tolist()
    kitchen.look(1, 0.5)
    assert len(kitchen.pictures.images) == 1


def test_sheets_of_looks_that_were_taken_back_stay_behind(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [3])
    for step in range(1, 5):
        kitchen.look(step, 0.5)
    assert kitchen.steps == [1, 2, 3, 4]
    del kitchen.training.history[2:]  # as a life from an earlier checkpoint has it, stopped at once
    kitchen.end()
    assert sorted(file.name for file in (tmp_path / "out/samples").iterdir()) == ["00000001.jpg", "00000002.jpg"]


def test_sheets_of_all_looks_stay_while_there_is_room_then_evenly_spread_ones(
    store: RecordReader, tmp_path: Path
) -> None:
    scores = [0.1, 0.2, 0.9, *[0.3] * 14]  # the third is the best
    (tmp_path / "roomy").mkdir()
    roomy = Kitchen(tmp_path / "roomy", store, [3])
    for step, accuracy in enumerate(scores, start=1):
        roomy.look(step, accuracy)
    assert roomy.steps == [*range(1, 18)]
    largest = max(file.stat().st_size for file in (tmp_path / "roomy/samples").iterdir())
    most_bytes = 7 * largest + 1
    tight = Kitchen(tmp_path, store, [3], most_bytes=most_bytes)
    tight.network.set_weights(roomy.network.get_weights())
    seen = []
    for step, accuracy in enumerate(scores, start=1):
        tight.look(step, accuracy)
        seen.append(tight.steps)
        assert sum(file.stat().st_size for file in (tmp_path / "samples").iterdir()) <= most_bytes
    # Besides the first, the best and the newest there is room for four.
    assert seen[3] == [1, 2, 3, 4] and seen[4] == [1, 2, 3, 4, 5]
    assert seen[8] == [1, 2, 3, 4, 6, 8, 9] and seen[16] == [1, 3, 4, 8, 12, 16, 17]


def test_three_sheets_stay_however_little_room_there_is(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [3], most_bytes=1)
    for step, accuracy in enumerate((0.1, 0.3, 0.9, 0.9, 0.2, 0.4), start=1):
        kitchen.look(step, accuracy)
    assert kitchen.steps == [1, 3, 6]  # the first, the best, of equals the earlier, and the newest


@pytest.mark.skipif(sys.platform != "linux", reason="asks of an open file which it is")
def test_a_sheet_is_on_the_disk_before_a_checkpoint_counts_on_it(
    store: RecordReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen, fsync = Kitchen(tmp_path, store, [3]), os.fsync
    synced: dict[str, int] = {}

    def note(number: int) -> None:
        synced[os.readlink(f"/proc/self/fd/{number}")] = os.fstat(number).st_size
        fsync(number)

    monkeypatch.setattr(os, "fsync", note)
    kitchen.look(1, 0.5)
    sheet = tmp_path / "samples/00000001.jpg"
    assert synced[str(sheet)] == sheet.stat().st_size > 0 and str(sheet.parent) in synced


def test_a_look_that_was_broken_off_leaves_nothing_on_the_next_sheet(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [0, 10])
    watch = kitchen.pictures.watch

    def stopped(batch: Any, predictions: Any) -> None:
        watch(batch, predictions)
        kitchen.unwanted = True

    kitchen.pictures.watch = stopped  # type: ignore[method-assign]
    assert kitchen.validate() is None
    kitchen.unwanted, kitchen.pictures.watch = False, watch  # type: ignore[method-assign]
    kitchen.look(1, 0.5)
    assert len(kitchen.pictures.images) == 2


def test_without_samples_nothing_is_drawn(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [])
    kitchen.look(1, 0.5)
    kitchen.end()
    assert kitchen.sheets == [] and list((tmp_path / "out").iterdir()) == []


def everything(kitchen: Kitchen) -> list[bytes]:
    """That a step depends on: weights, and the states of all generators."""
    variables = [*kitchen.network.variables, keras_random_state()]
    return [*(one.numpy().tobytes() for one in variables), *map(bytes, random_states_outside_keras().values())]


def test_events_of_a_look_hold_weights_activations_and_the_sheet_and_change_nothing(
    store: RecordReader, tmp_path: Path
) -> None:
    kitchen = Kitchen(tmp_path, store, [0, 10])
    before = everything(kitchen)
    with closing(kitchen.events()) as events:
        kitchen.look(7, 0.5, events)
    assert everything(kitchen) == before
    [file] = (tmp_path / "tensorboard").iterdir()
    values = {
        value.tag: value
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
        if event.step == 7
    }
    trained = {f"weights/{weight.path}" for weight in kitchen.network.trainable_weights}
    rectified = {layer.name for layer in kitchen.network.layers if isinstance(layer, keras.layers.ReLU)}
    names = rectified | {layer.name for layer in kitchen.network.layers if layer.weights}
    layers = {f"{what}/{name}" for name in names for what in ("activations", "sparsity")}
    assert rectified and values.keys() == {"validation/accuracy", "samples"} | trained | layers
    # The last layer: ten logits for each of two images.
    last = kitchen.network.layers[-1].name
    assert values[f"activations/{last}"].histo.num == 20
    images = np.stack(kitchen.pictures.images)
    logits = kitchen.network(images, training=False)["classes"].numpy()
    assert values[f"activations/{last}"].histo.max == pytest.approx(logits.max(), rel=1e-5)
    assert values[f"sparsity/{last}"].simple_value == 0
    for name in rectified:
        histogram = values[f"activations/{name}"].histo
        assert 0 <= values[f"sparsity/{name}"].simple_value <= 1 and histogram.min >= 0


def test_histograms_of_gradients_are_written_if_they_are_wanted(store: RecordReader, tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, store, [])
    kitchen.gradients = {"kernel": np.array([[1.0, -2.0], [0.5, 0.0]])}
    with closing(kitchen.events()) as events:
        kitchen.look(7, 0.5, events)
    with closing(kitchen.events(with_gradients=True)) as events:
        kitchen.look(8, 0.5, events)
    [_, file] = sorted((tmp_path / "tensorboard").iterdir())
    histograms = [
        (event.step, value.tag, value.histo.num, value.histo.min)
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
        if value.tag.startswith("gradients/")
    ]
    assert histograms == [(8, "gradients/kernel", 4, -2.0)]


def deep(layers: int, side: int, channels: int) -> keras.Model:
    """Answers with the number of the channel, in each of its layers."""
    given = x = keras.Input((side, side, 3))
    for number in range(layers):
        x = keras.layers.Conv2D(channels, 1, kernel_initializer="zeros", name=f"layer_{number}")(x)
    network = keras.Model(given, x)
    for layer in network.layers[1:]:
        layer.set_weights([layer.get_weights()[0], np.arange(channels, dtype=np.float32)])
    return network


def peak_growth(work: Callable[[], object]) -> int:
    """Bytes of memory that the process takes on top while it works, looked at every millisecond."""
    process, done, peaks = psutil.Process(), threading.Event(), [0]
    before = process.memory_info().rss

    def watch() -> None:
        while not done.wait(0.001):
            peaks.append(process.memory_info().rss - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(peaks)


def test_a_look_at_a_large_network_does_not_keep_all_its_answers(tmp_path: Path) -> None:
    network, images = deep(layers=16, side=192, channels=32), np.zeros((8, 192, 192, 3), np.float32)
    one_layer = 4 * images[..., :1].size * 32
    answers = layer_answers(network)
    with closing(Events(tmp_path / "tensorboard", 0)) as events:
        assert peak_growth(lambda: events.histograms(1, answers(images))) < 2 * one_layer < 16 * one_layer


def test_the_histogram_of_a_large_layer_is_of_all_its_channels() -> None:
    numbers = layer_answers(deep(layers=1, side=48, channels=96))(np.zeros((2, 48, 48, 3), np.float32))["layer_0"]
    counts = np.bincount(numbers.numpy().astype(int), minlength=96)
    assert counts.sum() == ENOUGH and counts.min() > 0.98 * ENOUGH / 96 and counts.max() < 1.02 * ENOUGH / 96


@pytest.mark.parametrize("averaged", [False, True])
def test_the_sparsity_of_a_layer_is_its_share_of_zeros(store: RecordReader, tmp_path: Path, *, averaged: bool) -> None:
    """Where weights are averaged, it is that of the averages."""
    kitchen = Kitchen(tmp_path, store, [0, 10])
    kitchen.validate()
    relu = next(layer for layer in kitchen.network.layers if isinstance(layer, keras.layers.ReLU))
    answers = keras.Model(kitchen.network.input, relu.output)(np.stack(kitchen.pictures.images), training=False)
    if averaged:
        kitchen.average = Average(kitchen.network, 0.9)
        kitchen.average.begin()
        for weight in kitchen.network.trainable_weights:
            weight.assign(np.zeros(weight.shape))
    with closing(kitchen.events()) as events:
        kitchen.look(7, 0.5, events)
    [file] = (tmp_path / "tensorboard").iterdir()
    [sparsity] = [
        value.simple_value
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
        if value.tag == f"sparsity/{relu.name}"
    ]
    assert sparsity == pytest.approx(np.mean(answers.numpy() == 0), abs=0.02) and sparsity > 0.1
