"""Event files for TensorBoard: curves, samples, histograms of weights, activations and gradients, and the share of
zeros in the answers of each layer."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike
from PIL import Image
from tensorflow.core.framework.summary_pb2 import Summary
from tensorflow.core.util.event_pb2 import Event

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.checkpoints.history import LogLine
from bakeoff.learning.checkpoints.run_folder import SAMPLES
from bakeoff.learning.plan.train_settings import Train
from bakeoff.learning.tasks.task import Tensors
from bakeoff.learning.training.callbacks import Callback
from bakeoff.learning.training.training import Training

EVENTS = "tensorboard"  # a folder of a run in flight
VERSION = "brain.Event:2"
NAME = "events.out.tfevents.{:010d}.bakeoff"
BUCKETS = 30
RGB = 3  # how summary.proto calls it
ENOUGH = 100_000  # numbers for the histogram of a layer's answers
STRIDE = 1_000_003  # from each of them to the next, round and round: a prime, so that they are of all channels


class Events:
    """A run's folder of event files, opened for the steps after `done`."""

    def __init__(self, folder: Path, done: int, history: Iterable[LogLine] = ()) -> None:
        """`history`: its lines so far, written first if an earlier life wrote no events."""
        folder.mkdir(exist_ok=True)
        earlier = sorted(folder.glob(NAME.format(0).replace("0" * 10, "?" * 10)))
        for file in earlier:
            _cut(file, done)
        number = 1 + max((int(file.name.split(".")[-2]) for file in earlier), default=0)
        self._writer = tf.io.TFRecordWriter(str(folder / NAME.format(number)))
        self._writer.write(Event(wall_time=time.time(), file_version=VERSION).SerializeToString())
        for line in () if earlier else history:
            self.scalars(line.step, line.values)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        self._write(step, [Summary.Value(tag=name, simple_value=value) for name, value in values.items()])

    def histograms(self, step: int, arrays: Mapping[str, ArrayLike]) -> None:
        """Of all numbers of each array."""
        self._write(step, [value for name, array in arrays.items() for value in _histogram(name, array)])

    def picture(self, step: int, name: str, file: Path) -> None:
        with Image.open(file) as image:
            width, height = image.size
        content = Summary.Image(height=height, width=width, colorspace=RGB, encoded_image_string=file.read_bytes())
        self._write(step, [Summary.Value(tag=name, image=content)])

    def _write(self, step: int, values: list[Any]) -> None:
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=values))
        self._writer.write(event.SerializeToString())
        self._writer.flush()


def _histogram(name: str, array: ArrayLike) -> list[Any]:
    """None of an array without a finite number."""
    numbers = np.asarray(array).astype(np.float64).ravel()
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return []
    counts, edges = np.histogram(numbers, BUCKETS)
    histogram = {
        "min": numbers.min(), "max": numbers.max(), "num": numbers.size, "sum": numbers.sum(),
        "sum_squares": np.square(numbers).sum(), "bucket_limit": edges[1:], "bucket": counts,
    }  # fmt: skip
    return [Summary.Value(tag=name, histo=histogram)]


def _cut(file: Path, done: int) -> None:
    """What comes after step `done`, and what a crash left half written."""
    kept, whole = [], True
    try:
        for record in tf.data.TFRecordDataset(str(file)):
            if Event.FromString(record.numpy()).step <= done:
                kept.append(record.numpy())
            else:
                whole = False
    except tf.errors.DataLossError:
        whole = False
    if whole:
        return
    partial = file.with_name(f"partial.{file.name.replace('tfevents', 'cut')}")  # TensorBoard passes it over
    with tf.io.TFRecordWriter(str(partial)) as writer:
        for content in kept:
            writer.write(content)
    partial.replace(file)


class TensorBoard(Callback):
    """Writes the events of a run into its folder."""

    def __init__(self, folder: Path, *, with_gradients: bool = False) -> None:
        """`folder` is the run's own, where others may have drawn a sheet of samples."""
        self._folder, self._with_gradients = folder, with_gradients
        self._answers: Callable[[np.ndarray], Tensors] | None = None
        self._training: Training | None = None
        self._events: Events | None = None

    def on_start(self, training: Training) -> None:
        self._training, self._answers = training, layer_answers(training.learner.network)
        self._events = Events(self._folder / EVENTS, training.position.step, training.history)

    def on_log(self, line: LogLine) -> None:
        assert self._events is not None
        self._events.scalars(line.step, line.values)

    def on_validation(self, line: LogLine, seconds: float) -> None:
        assert self._events and self._training and self._answers
        events, step, training = self._events, line.step, self._training
        sheet = self._folder / SAMPLES / f"{step:08d}.jpg"
        events.scalars(step, line.values)
        with training.learner.kept() as network:
            events.histograms(step, {f"weights/{one.path}": one.value for one in network.trainable_weights})
            if images := training.pictures.images:
                named = self._answers(np.stack(images)).items()
                events.histograms(step, {f"activations/{name}": value for name, value in named})
                events.scalars(step, {f"sparsity/{name}": float(np.mean(value.numpy() == 0)) for name, value in named})
        if sheet.is_file():
            events.picture(step, "samples", sheet)
        if self._with_gradients:
            gradients = training.count_gradients(step)
            events.histograms(step, {f"gradients/{path}": value for path, value in gradients.items()})

    def close(self) -> None:
        if self._events is not None:
            self._events.close()


def layer_answers(network: keras.Model) -> Callable[[np.ndarray], Tensors]:
    """Return what takes images and gives, of each layer with weights or that may answer 0, enough of its answers.

    It is a graph, which lets go of each layer's answers once the next layers have them: of some networks all answers
    together take a gigabyte. And it takes one image at a time, so that it needs no more than a training step does.
    """
    sparse = keras.layers.ReLU | keras.layers.Activation
    outputs = {layer.name: layer.output for layer in network.layers if layer.weights or isinstance(layer, sparse)}
    plain = {name: output for name, output in outputs.items() if isinstance(output, keras.KerasTensor)}
    inner = keras.Model(network.input, plain)

    def take(answers: tf.Tensor, most: tf.Tensor) -> tf.Tensor:
        size = tf.size(answers, tf.int64)
        return tf.gather(tf.reshape(answers, [-1]), tf.range(tf.minimum(size, most)) * STRIDE % size)

    @compile_graph
    def answers(image: tf.Tensor, most: tf.Tensor) -> Tensors:
        return {name: take(value, most) for name, value in inner(image, training=False).items()}

    def of_all(images: np.ndarray) -> Tensors:
        most = tf.constant(max(1, ENOUGH // len(images)), tf.int64)
        each = [answers(tf.constant(image[None]), most) for image in images]
        return {name: tf.concat([one[name] for one in each], 0) for name in plain}

    return of_all


def wanted_by(train: Train, folder: Path) -> list[TensorBoard]:
    """Return the callback if the settings ask for event files."""
    return [TensorBoard(folder, with_gradients=train.gradient_histograms)] if train.tensorboard else []
