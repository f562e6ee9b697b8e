"""Labels and a teacher's answers -> what training learns of each example: boxes, and shares of the classes of each.

A record then names no class, but a row of a table, which moves with its box through every change of the picture:

    row   class   shares                 spread   what it is
    0     0       0.0   0.0   0.0        0.0      padding
    1     2       0.05  0.90  0.05       0.01     a labelled box, that the teacher is sure of
    2     2       0.0   1.0   0.0        0.0      one that it has not found
    3     1       0.7   0.1   0.0        0.04     one that it found and nobody labelled
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bakeoff.dataset.records.record import SIDES
from bakeoff.dataset.records.wire import decode_features, encode_floats, encode_integers, replace_features
from bakeoff.learning.input.record_reader import REBUILD, RecordReader
from bakeoff.learning.networks.tile_merge import box_overlaps
from bakeoff.learning.tasks.teacher import Teacher
from bakeoff.learning.tasks.teacher_answers import TeacherAnswers, Told

Tensors = dict[str, tf.Tensor]
SAME = 0.5  # a box of the teacher's and a labelled one that overlap by so much are one object
CORNERS = tuple(f"image/object/bbox/{side}" for side in SIDES)
OF_BOXES, OF_IMAGE = "image/object/class/label", "image/class/label"


class TaughtExample(NamedTuple):
    """What is learnt of one example; an image as a whole has one box that nobody reads."""

    boxes: np.ndarray  # (n, 4) float32
    classes: np.ndarray  # (n,) int64 ids 1..k
    shares: np.ndarray  # (n, k) float32
    spreads: np.ndarray  # (n,) float32, the standard deviation of the sides in shares of the box


class Lessons:
    """The table of all examples, and which of its rows belong to which."""

    def __init__(self, lessons: Iterable[TaughtExample], classes: int) -> None:
        shares, spreads = np.zeros((1, classes), np.float32), np.zeros(1, np.float32)
        padding = TaughtExample(np.zeros((1, 4), np.float32), np.zeros(1, np.int64), shares, spreads)
        each = [padding, *lessons]
        self._boxes = [one.boxes for one in each[1:]]
        self._first = np.cumsum([len(one.classes) for one in each])  # row of each example
        self._classes = tf.constant(np.concatenate([one.classes for one in each]))
        self._shares = tf.constant(np.concatenate([one.shares for one in each]))
        self._spreads = tf.constant(np.concatenate([one.spreads for one in each]))

    @classmethod
    def of(cls, store: RecordReader, answers: TeacherAnswers, teacher: Teacher) -> "Lessons":
        """Take the examples of a whole split, in the order of its shards. Raises DataError for one that is none."""
        records = (store.read(np.array([number]))[0] for number in range(store.examples))  # one at a time in memory
        told = zip(records, answers.each(), strict=True)
        lessons = (_learn(data, given, teacher) for data, given in told)
        try:
            return cls(lessons, answers.scores.shape[1])
        except (ValueError, IndexError):
            raise store.failure(store.find_misfit() or f"an example names a class that is none; {REBUILD}") from None

    def rewrite(self, example: int, data: bytes) -> bytes:
        """Return a record whose boxes and classes are rows of the table."""
        boxes, first = self._boxes[example], int(self._first[example])
        rows = encode_integers(range(first, first + len(boxes)))
        if OF_IMAGE in decode_features(data, only=()):
            return replace_features(data, {OF_IMAGE: rows})
        corners = {key: encode_floats(side) for key, side in zip(CORNERS, boxes.T, strict=True)}
        return replace_features(data, corners | {OF_BOXES: rows})

    def encode(self, inner: Callable[[Tensors], Tensors]) -> Callable[[Tensors], Tensors]:
        """Return what makes targets of an example whose classes are rows, by what makes them of ids and shares."""

        def encode(example: Tensors) -> Tensors:
            key = "classes" if "classes" in example else "label"
            of_row = {key: self._classes, "shares": self._shares, "spreads": self._spreads}
            return inner(example | {name: tf.gather(values, example[key]) for name, values in of_row.items()})

        return encode


def _learn(data: bytes | None, told: Told, teacher: Teacher) -> TaughtExample:
    """Return the lesson of an example; of a damaged one, which no batch has, an empty one."""
    boxes, scores, spreads = told
    keys = (*CORNERS, OF_BOXES, OF_IMAGE)
    features = decode_features(data or b"", only=keys)
    if OF_IMAGE in features:
        ids = np.array(features[OF_IMAGE], np.int64)
        found = np.zeros(len(ids), np.int64) if len(scores) else np.full(len(ids), -1)
        boxes, spreads = np.zeros((len(ids), 4), np.float32), np.zeros(len(ids), np.float32)
        return TaughtExample(boxes, ids, _mix(ids, found, scores, teacher), spreads)
    truth = np.stack([np.array(features.get(key, ()), np.float32) for key in CORNERS], axis=-1)
    ids = np.array(features.get(OF_BOXES, ()), np.int64)
    overlap = box_overlaps(truth[:, None], boxes[None]).reshape(len(truth), len(boxes))
    found = match(overlap)
    nearer = np.where(found[:, None] >= 0, boxes[found] if len(boxes) else truth, truth)
    placed = (1 - teacher.box_weight) * truth + teacher.box_weight * nearer
    wide = np.where(found >= 0, teacher.box_weight * np.append(spreads, np.float32(0))[found], 0.0)
    is_sure = (scores.max(axis=1, initial=0.0) >= teacher.added_from) & (teacher.added_from < 1)
    is_new = is_sure & (overlap.max(axis=0, initial=0.0) < SAME)
    new, added = scores[is_new], boxes[is_new]
    return TaughtExample(
        np.concatenate([placed, np.clip(added, 0, 1)]).astype(np.float32),
        np.concatenate([ids, new.argmax(axis=1) + 1]),
        np.concatenate([_mix(ids, found, scores, teacher), new / np.maximum(new.sum(axis=1, keepdims=True), 1)]),
        np.concatenate([wide, spreads[is_new]]).astype(np.float32),
    )


def match(overlap: np.ndarray) -> np.ndarray:
    """Return which column each row is, -1: none. Pairs that overlap most come first, and each column is used once."""
    found = np.full(len(overlap), -1)
    for flat in _best_first(overlap):
        row, column = divmod(int(flat), overlap.shape[1])
        if found[row] < 0 and column not in found:
            found[row] = column
    return found


def _best_first(overlap: np.ndarray) -> Iterator[np.integer]:
    order = np.argsort(-overlap, axis=None, kind="stable")
    return (flat for flat in order if overlap.flat[flat] >= SAME)


def _mix(ids: np.ndarray, found: np.ndarray, scores: np.ndarray, teacher: Teacher) -> np.ndarray:
    """Return the shares of labelled objects: the label's class, and what the teacher says where it found the object."""
    classes = scores.shape[1]
    label = np.eye(classes, dtype=np.float32)[ids - 1]
    if not len(scores):
        return label
    soft = scores[found] ** (1 / teacher.temperature)
    told = soft / np.maximum(soft.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    weight = np.where(found >= 0, teacher.weight, 0.0)[:, None]
    return ((1 - weight) * label + weight * told).astype(np.float32)
