"""What can be seen of a run besides its numbers: samples at each validation pass, and events for TensorBoard."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike
from PIL import Image
from tensorflow.core.framework.summary_pb2 import Summary
from tensorflow.core.util.event_pb2 import Event

from bakeoff.foundation.files import sync, sync_names
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.checkpoints.history import metrics_of
from bakeoff.learning.checkpoints.run_folder import SAMPLES, SavedState
from bakeoff.learning.metrics.names import merit
from bakeoff.learning.plan.settings import Train
from bakeoff.learning.tasks.drawing import draw_sheet
from bakeoff.learning.tasks.task import Task, Tensors

EVENTS = "tensorboard"  # a folder of a run in flight
MIN_SCORE = 0.5  # of detections, and of labels where there may be several


def evenly_spread(count: int, examples: int) -> np.ndarray:
    """So many numbers of examples, or all there are; always the same."""
    count = min(count, examples)
    return np.arange(count) * examples // max(1, count)


class Samples:
    """A sheet of each validation pass, as many as `most_bytes` hold."""

    def __init__(
        self, folder: Path, task: Task, classes: Sequence[str], numbers: np.ndarray, *, most_bytes: int
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self._most_bytes = folder, most_bytes
        self._task, self._classes, self._numbers = task, tuple(classes), numbers
        self._seen: list[tuple[np.ndarray, dict]] = []
        self.images: list[np.ndarray] = []  # of the last validation pass

    def begin(self) -> Callable[[Tensors, Tensors], None]:
        """Return what sees every batch of a validation; the one before may have been broken off."""
        self._seen = []
        return self._watch

    def _watch(self, batch: Tensors, predictions: Tensors) -> None:
        rows = np.flatnonzero(np.isin(batch["number"].numpy(), self._numbers))
        if len(rows):
            those, answers = (
                {key: tf.gather(value, rows) for key, value in part.items()} for part in (batch, predictions)
            )
            self._seen += self._task.iterate_pictures(those, answers)

    def draw(self, done: int, history: Sequence[str], headline: str) -> Path | None:
        """A sheet of what was watched."""
        self.images = [image for image, _ in self._seen]
        if not self._seen:
            return None
        sheet = self.folder / f"{done:08d}.jpg"
        try:
            draw_sheet(self._seen, self._classes, MIN_SCORE, sheet)
        except OSError:
            sheet.unlink(missing_ok=True)  # half of one, on a full disk
            raise
        sync(sheet)  # before a checkpoint counts it as drawn
        sync_names(self.folder)
        for file in set(self.folder.glob("*.jpg")) - self.staying(history, headline):
            file.unlink()
        return sheet

    def staying(self, history: Sequence[str], headline: str) -> set[Path]:
        """Those of the first, the best and the newest pass; of the others every one, or every second, fourth, eighth,
        as many as there is room for."""
        values: dict[int, float] = {}
        for line in history:
            step, metrics = metrics_of(line)
            if "train/loss" not in metrics:
                value = metrics.get(f"validation/{headline}")
                values[step] = float("-inf") if value is None else merit(headline, value)
        if not values:
            return set()
        best = max(values, key=lambda step: values[step])  # the first of equals
        steps, always = sorted(values), {min(values), best, max(values)}
        room = self._most_bytes // self._largest() - len(always)
        every = 1
        while len(steps) // every > room and every <= len(steps):
            every *= 2
        # Every n-th from the first on: what stays when they become too many has stayed until then.
        return {self.folder / f"{step:08d}.jpg" for step in {*steps[every - 1 :: every], *always}}

    def _largest(self) -> int:
        """Bytes of a sheet, at most."""
        return max((file.stat().st_size for file in self.folder.glob("*.jpg")), default=1)


VERSION = "brain.Event:2"
NAME = "events.out.tfevents.{:010d}.bakeoff"
BUCKETS = 30
RGB = 3  # how summary.proto calls it
ENOUGH = 100_000  # numbers for the histogram of a layer's answers
STRIDE = 1_000_003  # from each of them to the next, round and round: a prime, so that they are of all channels


class Events:
    """A run's folder of event files, opened for the steps after `done`."""

    def __init__(self, folder: Path, done: int, history: Iterable[str] = ()) -> None:
        """`history`: its lines so far, written first if an earlier life wrote no events."""
        folder.mkdir(exist_ok=True)
        earlier = sorted(folder.glob(NAME.format(0).replace("0" * 10, "?" * 10)))
        for file in earlier:
            _cut(file, done)
        number = 1 + max((int(file.name.split(".")[-2]) for file in earlier), default=0)
        self._writer = tf.io.TFRecordWriter(str(folder / NAME.format(number)))
        self._writer.write(Event(wall_time=time.time(), file_version=VERSION).SerializeToString())
        for line in () if earlier else history:
            self.scalars(*metrics_of(line))
        self._writer.flush()

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *error: object) -> None:
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


@contextmanager
def events_of(train: Train, folder: Path, saved: SavedState) -> Iterator[Events | None]:
    """Yield the writer of events of a run that resumes from `saved`; None unless they are wanted."""
    if not train.tensorboard:
        yield None
        return
    with Events(folder / EVENTS, saved.position.step, saved.facts["history"]) as events:
        yield events


class Show:
    """Called with every line of the history that was just logged."""

    def __init__(
        self, network: keras.Model, samples: Samples, events: Events | None, headline: str, *,
        with_gradients: bool = False,
    ) -> None:  # fmt: skip
        """`network` is the one that is validated."""
        self._network, self._samples, self._events, self._headline = network, samples, events, headline
        self._with_gradients = with_gradients
        self._answers = layer_answers(network) if events else None

    def __call__(
        self, step: int, values: Mapping[str, float], history: Sequence[str],
        gradients: Callable[[], Mapping[str, np.ndarray]],
    ) -> None:  # fmt: skip
        if self._events:
            self._events.scalars(step, values)
        if "train/loss" in values:
            return
        self._looked(step, history)
        if self._events and self._with_gradients:
            self._events.histograms(step, {f"gradients/{path}": value for path, value in gradients().items()})

    def _looked(self, step: int, history: Sequence[str]) -> None:
        sheet = self._samples.draw(step, history, self._headline)
        if self._events:
            weights = {weight.path: weight.value for weight in self._network.trainable_weights}
            self._events.histograms(step, {f"weights/{path}": value for path, value in weights.items()})
        if self._events and self._answers and sheet:
            answers = self._answers(np.stack(self._samples.images))
            self._events.histograms(step, {f"activations/{name}": value for name, value in answers.items()})
            self._events.picture(step, "samples", sheet)


def layer_answers(network: keras.Model) -> Callable[[np.ndarray], Tensors]:
    """Return what takes images and gives, of each layer that has weights, as many numbers of its answers as are enough.

    It is a graph, which lets go of each layer's answers once the next layers have them: of some networks all answers
    together take a gigabyte.
    """
    outputs = {layer.name: layer.output for layer in network.layers if layer.weights}
    plain = {name: output for name, output in outputs.items() if isinstance(output, keras.KerasTensor)}
    inner = keras.Model(network.input, plain)

    def enough(answers: tf.Tensor) -> tf.Tensor:
        size = tf.size(answers, tf.int64)
        return tf.gather(tf.reshape(answers, [-1]), tf.range(tf.minimum(size, ENOUGH)) * STRIDE % size)

    @compile_graph
    def answers(images: tf.Tensor) -> Tensors:
        return {name: enough(value) for name, value in inner(images, training=False).items()}

    return lambda images: answers(tf.constant(images))


def keep_samples(samples: Samples, history: Sequence[str], headline: str, out: Path) -> None:
    """Copy the sheets into `models/train`; those of steps that were taken back stay behind."""
    for sheet in samples.staying(history, headline):
        if sheet.is_file():
            (out / SAMPLES).mkdir(exist_ok=True)
            shutil.copyfile(sheet, out / SAMPLES / sheet.name)
