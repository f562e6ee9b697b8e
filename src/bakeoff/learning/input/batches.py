"""From a store of examples to tf.data batches of network inputs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from bakeoff.foundation.tf_graph import as_written
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.scene import make_key
from bakeoff.learning.input.augment_and_resize import distort, fit
from bakeoff.learning.input.decode import Example, choose_parser, decode_frames
from bakeoff.learning.input.mixup_mosaic import Draw, Partners, make_mixing_reader
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder, Read, make_evaluation_reader, make_training_reader
from bakeoff.learning.input.view import Shape


class Portion(NamedTuple):
    """What a training takes of the endless stream of its examples."""

    first_example: int = 0  # with which its step 0 begins
    mixed_steps: int | None = None  # how many of its steps may mix examples; None: all
    share: tuple[int, int] = (0, 1)  # a worker's (number, count): one of so many equal parts of each batch


ALL = Portion()


def training_batches(
    store: RecordReader,
    shape: Shape,
    *,
    order: ExampleOrder,
    steps: range,
    augment: Augment,
    encode: Callable[[Example], Example],
    portion: Portion = ALL,
) -> tf.data.Dataset:
    """Give one batch per step: images, and what `encode` makes of their truth.

    The batch of a step is the same wherever `steps` starts. Parts of batches that are other workers' are not read.
    """
    first, mixed_steps, (number, count) = portion
    mixed_until = None if mixed_steps is None else first + mixed_steps * shape.batch_size
    read, change = _read_and_change(store, shape, order, augment, mixed_until)

    def prepare(place: tf.Tensor, data: tf.Tensor) -> Example:
        example = change(place, data)
        return {"image": example["image"]} | encode(example)

    start, stop = (first + step * shape.batch_size for step in (steps.start, steps.stop))
    positions = tf.data.Dataset.range(start, stop)
    if count > 1:
        whole, part = shape.batch_size, shape.batch_size // count
        shape, start = replace(shape, batch_size=part), start + number * part
        rows_of_share = tf.data.Dataset.range(len(steps) * part)
        positions = rows_of_share.map(as_written(lambda row: start + row // part * whole + row % part))
    rows = _prepare(positions, shape, read, prepare, [1 + augment.partners] if augment.mixes else [])
    has_own_shapes = any(None in spec.shape for spec in tf.nest.flatten(rows.element_spec))
    batched = rows.padded_batch if has_own_shapes else rows.batch  # with zeros
    return batched(shape.batch_size, drop_remainder=True).prefetch(shape.prefetch_batches)


def first_examples(
    store: RecordReader, shape: Shape, *, order: ExampleOrder, augment: Augment, count: int
) -> Iterator[Example]:
    """Give the first examples of a training as `training_batches` does, without a graph: a few are sooner there."""
    read, change = _read_and_change(store, shape, order, augment)
    for place, data in zip(*read(np.arange(count)), strict=True):
        yield change(tf.constant(place, tf.int64), tf.constant(data))


def _read_and_change(
    store: RecordReader, shape: Shape, order: ExampleOrder, augment: Augment, mixed_until: int | None = None
) -> tuple[Read, Callable[[tf.Tensor, tf.Tensor], Example]]:
    """Return what reads at positions of the stream, and what makes of that an example as a network gets it."""
    parse = choose_parser(shape)
    mixes = bool(augment.mixes)

    def change(place: tf.Tensor, data: tf.Tensor) -> Example:
        place = tf.ensure_shape(place, [2])
        key = make_key(order.seed, epoch=place[0], example=place[1])
        partners = Partners(data, parse) if mixes else None
        example = parse(data[0] if mixes else data)
        return distort(example, shape.view, augment=augment, key=key, partners=partners)

    read = make_mixing_reader(store, Draw(order, augment, mixed_until)) if mixes else make_training_reader(store, order)
    return read, change


def evaluation_batches(store: RecordReader, shape: Shape, numbers: np.ndarray | None = None) -> tf.data.Dataset:
    """Give every example, or these, once, in the order of the shards, as dicts.

    Boxes are padded with class 0, and the last batch is short. Where a picture is looked at in tiles, it is a batch
    of its own and decoded in full: "pixels", and "at_once" tiles may go through the network together.
    """
    parse = choose_parser(shape)

    def prepare(number: tf.Tensor, data: tf.Tensor) -> Example:
        example, whole = parse(data), {}
        if shape.tiles:
            pixels = decode_frames(example["image"][None], None)[0]
            example, whole = example | {"image": pixels}, {"pixels": pixels, "at_once": tf.constant(shape.batch_size)}
        return fit(example, shape.view) | whole | {"number": tf.ensure_shape(number, [])}

    chosen = (np.arange(store.examples) if numbers is None else numbers).astype(np.int64)
    rows = _prepare(tf.data.Dataset.from_tensor_slices(chosen), shape, make_evaluation_reader(store), prepare)
    if shape.tiles:
        return rows.padded_batch(1).prefetch(1)
    return rows.padded_batch(shape.batch_size).prefetch(shape.prefetch_batches)


def _prepare(
    numbers: tf.data.Dataset,
    shape: Shape,
    read: Read,
    prepare: Callable[[tf.Tensor, tf.Tensor], Any],
    of_data: Sequence[int] = (),
) -> tf.data.Dataset:
    """Let examples be read a batch at a time by Python, then decoded by several threads of TensorFlow's.

    `of_data` is the shape of what is read for one.
    """
    read_batches = numbers.batch(shape.batch_size).map(
        # Were it not declared free of state, deterministic mode would take all threads and prefetching away.
        as_written(lambda batch: tf.numpy_function(read, [batch], [tf.int64, tf.string], stateful=False))
    )
    options = tf.data.Options()
    # There is nothing to tune, and the end of an iterator may wait for the tuning thread to wake up: up to 60 s.
    options.autotune.enabled = False
    return (
        read_batches.with_options(options)
        .prefetch(1)  # so that nobody who decodes waits for Python
        .unbatch()
        .map(
            as_written(lambda key, data: prepare(key, tf.ensure_shape(data, of_data))),
            num_parallel_calls=shape.decode_threads,
            deterministic=True,
        )
    )
