"""Other training examples mixed into one: which, by arithmetic, and how.

Whether an example is mixed, and with which others, is drawn from (seed, epoch, example) for each kind of mixing by
itself, so any step's batch can be named, and read, without the ones before.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.copy_paste import CopyPaste
from bakeoff.learning.input.augment.layer import DecodedExample, LazyExample
from bakeoff.learning.input.augment.mixup import Mixup
from bakeoff.learning.input.augment.mosaic import Mosaic
from bakeoff.learning.input.augment.scene import fold_name, split_key
from bakeoff.learning.input.decode import Example
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.shuffle import ExampleOrder, Read, find_next_whole, make_training_reader

Load = Callable[[tf.Tensor, tf.Tensor], LazyExample]  # serialized example and its key -> layer


class Partners(NamedTuple):
    # (1 + n,) serialized: the example itself, and others in the order of `Augment.mixes`, empty where none is mixed in.
    data: tf.Tensor
    parse: Callable[[tf.Tensor], Example]


@dataclass(frozen=True)
class Draw:
    """Who is mixed into whom."""

    order: ExampleOrder
    augment: Augment
    until: int | None = None  # where in the stream mixing ends; None: nowhere

    def at_position(self, position: int, epoch: int, example: int) -> list[int]:
        """Return the numbers of the partners of the example that stands there, -1 where none is mixed in."""
        if self.until is not None and position >= self.until:
            return [-1] * self.augment.partners
        return self.at(epoch, example)

    def at(self, epoch: int, example: int) -> list[int]:
        """Return the numbers of an example's partners, -1 where none is mixed in."""
        drawn = [self._partners(name, mix, epoch, example) for name, mix in self.augment.mixes.items()]
        return [number for numbers in drawn for number in numbers]

    def _partners(self, name: str, mix: Mosaic | CopyPaste | Mixup, epoch: int, example: int) -> list[int]:
        """Draw from all the others, evenly; from itself, where there is no other."""
        draw = np.random.default_rng([self.order.seed, epoch, example, zlib.crc32(name.encode())])
        if draw.random() >= mix.probability:
            return [-1] * mix.partners
        if self.order.examples == 1:
            return [example] * mix.partners
        others = draw.integers(0, self.order.examples - 1, mix.partners)
        return (others + (others >= example)).tolist()


def make_mixing_reader(store: RecordReader, draw: Draw) -> Read:
    """Return what gives ((n, 2) epoch and example, (n, 1 + partners) data) at n positions; the data of no partner is
    empty. A damaged partner's place is taken as in the stream: by the next of the epoch's order that is whole."""
    read_own = make_training_reader(store, draw.order)

    def read(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        keys, own = read_own(positions)
        named = zip(positions.tolist(), keys.tolist(), strict=True)
        partners = np.array([draw.at_position(position, *key) for position, key in named], np.int64)  # (n, partners)
        places = np.argwhere(partners >= 0)
        data = np.full((len(own), 1 + draw.augment.partners), b"", object)
        data[:, 0] = own
        records = store.read(partners[partners >= 0])
        for (row, slot), whole in zip(places.tolist(), records, strict=True):
            if whole is None:
                whole = _find_instead(store, draw.order, int(keys[row, 0]), int(partners[row, slot]))
            data[row, 1 + slot] = whole
        return keys, data

    return read


def _find_instead(store: RecordReader, order: ExampleOrder, epoch: int, example: int) -> bytes:
    [place] = np.flatnonzero(order.epoch(epoch) == example)
    _, data = find_next_whole(store, order, epoch * order.examples + int(place))
    return data


def mix(
    layer: LazyExample, data: tf.Tensor, load: Load, *, augment: Augment, side: int, key: tf.Tensor
) -> DecodedExample:
    """Show a layer, whose own data are the first, with the partners whose data are not empty; the others, and what is
    not shown, are not decoded.
    """
    own, *parts = tf.split(data, [1, *(change.partners for change in augment.mixes.values())])
    picture = None
    for (name, change), part in zip(augment.mixes.items(), parts, strict=True):
        of_mix, *of_partners = split_key(fold_name(key, name), 1 + change.partners)
        is_drawn = tf.strings.length(part[0]) > 0
        if isinstance(change, Mosaic):
            all_data, keys = tf.concat([own, part], axis=0), tf.stack([key, *of_partners])
            compose = partial(_compose, change, load, all_data, keys, side, of_mix)
            picture = tf.cond(is_drawn, compose, layer.show)
        else:
            [of_other] = of_partners
            before = picture or layer.show()
            mixed = partial(_mix, change, before, partial(load, part[0], of_other), of_mix)
            picture = tf.cond(is_drawn, mixed, lambda before=before: before)
    assert picture is not None
    return DecodedExample(tf.ensure_shape(picture.image, [1, side, side, 3]), *picture[1:])


def _compose(mosaic: Mosaic, load: Load, data: tf.Tensor, keys: tf.Tensor, side: int, key: tf.Tensor) -> DecodedExample:
    return mosaic.compose(lambda number: load(data[number], keys[number]), side, key)


def _mix(
    change: CopyPaste | Mixup, picture: DecodedExample, other: Callable[[], LazyExample], key: tf.Tensor
) -> DecodedExample:
    return change.mix(picture, other().show(), key)
