"""TensorBoard's event files, each record once: a file for each life of a run, and what came after a checkpoint cut off.

Written as TensorFlow defines them (event.proto, summary.proto), so that nothing but TensorFlow is needed to write them.
"""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike
from PIL import Image
from tensorflow.core.framework.summary_pb2 import Summary
from tensorflow.core.util.event_pb2 import Event

from bakeoff.training.history import metrics_of

VERSION = "brain.Event:2"
NAME = "events.out.tfevents.{:010d}.bakeoff"
BUCKETS = 30
RGB = 3  # how summary.proto calls it


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
