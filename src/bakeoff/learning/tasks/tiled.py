"""Pictures that a detector sees in tiles: each picture is cut, every view answered, and the answers merged.

A batch holds few decoded pictures, {"pixels": (n, h, w, 3) uint8, "at_once": (n,) views that go through the network
together, "boxes", "classes"}, so memory does not grow with the number of tiles.
"""

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import LETTERBOX, WINDOW, find_window
from bakeoff.learning.networks.tile_merge import Predictions, merge_tiles
from bakeoff.learning.networks.tiles import Tiles

Tensors = dict[str, tf.Tensor]
Answer = Callable[[Tensors], Tensors]


def answer_in_tiles(view: View, answer: Answer, *, with_losses: bool = False) -> Answer:
    """Return what answers whole pictures; `answer` is asked about views at the network's input size.

    It gets "image" (n, size, size, 3), and for losses the "boxes" and "classes" of each view, padded. The loss of a
    picture is that of all its views as one batch, each with the boxes that training would ask it for.
    """
    tiles = view.tiles
    assert tiles is not None
    cut = make_cutter(view)

    def answer_picture(picture: np.ndarray, boxes: np.ndarray, classes: np.ndarray, at_once: int) -> Predictions:
        windows = tiles.windows(*picture.shape[:2])
        predictions: list[Predictions] = []
        for first in range(0, len(windows), at_once):
            some = windows[first : first + at_once]
            views = {"image": cut(tf.constant(picture), tf.constant(some, tf.int32))}
            if view.fit == LETTERBOX:
                sides = (some[:, 2:] - some[:, :2]).tolist()
                views[WINDOW] = tf.constant(np.stack([find_window(high, wide, view.size) for high, wide in sides]))
            if with_losses:
                views |= _cut_truth(boxes, classes, some / np.tile(picture.shape[:2], 2), tiles)
            predictions += rows_of(answer(views))
        merged = merge_tiles(predictions, windows, tiles)
        return merged | ({"losses": _add_losses(predictions)} if with_losses else {})

    def answer_batch(batch: Tensors) -> Tensors:
        truth = [batch[name].numpy() if name in batch else None for name in ("boxes", "classes")]
        pictures = zip(batch["pixels"].numpy(), batch["at_once"].numpy().tolist(), strict=True)
        merged = []
        for row, (picture, at_once) in enumerate(pictures):
            boxes, classes = (np.zeros([0, 4]) if one is None else one[row] for one in truth)
            merged.append(answer_picture(picture, boxes, classes, at_once))
        return stack_predictions(merged)

    return answer_batch


def make_cutter(view: View) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """Return what cuts windows (n, 4) out of a picture, each brought to the network's input size as a picture is."""

    @compile_graph
    def cut(picture: tf.Tensor, windows: tf.Tensor) -> tf.Tensor:
        def show_window(window: tf.Tensor) -> tf.Tensor:
            top, left, bottom, right = tf.unstack(window, num=4)
            return augment_and_resize.fit({"image": picture[top:bottom, left:right]}, view)["image"]

        return tf.map_fn(show_window, windows, fn_output_signature=tf.TensorSpec([view.size, view.size, 3], tf.float32))

    any_size, any_number = tf.TensorSpec([None, None, 3], tf.uint8), tf.TensorSpec([None, 4], tf.int32)
    return cut.get_concrete_function(any_size, any_number)


def _cut_truth(boxes: np.ndarray, classes: np.ndarray, windows: np.ndarray, tiles: Tiles) -> Tensors:
    real = classes > 0  # the rest is padding
    asked = [tiles.cut_truth(boxes[real], window) for window in windows]
    most = max(len(rows) for _, rows in asked)
    cut, labels = np.zeros([len(asked), most, 4], np.float32), np.zeros([len(asked), most], np.int64)
    for number, (inside, rows) in enumerate(asked):
        cut[number, : len(rows)], labels[number, : len(rows)] = inside, classes[real][rows]
    return {"boxes": tf.constant(cut), "classes": tf.constant(labels)}


def _add_losses(predictions: Sequence[Predictions]) -> np.ndarray:
    """Return the parts of the loss of all views as one batch, and what they are divided by."""
    losses = np.stack([one["losses"] for one in predictions]).astype(np.float64)
    divisor = losses[:, 2].sum()
    sums = losses[:, :2] * np.maximum(losses[:, 2:], 1)
    return np.array([*sums.sum(axis=0) / max(divisor, 1), divisor], np.float32)


def rows_of(predictions: Tensors) -> list[Predictions]:
    """Return the answers to a batch one by one, without padding."""
    values = {name: value.numpy() for name, value in predictions.items()}
    counts = values.pop("count")
    return [
        {name: value[row] if name == "losses" else value[row][:count] for name, value in values.items()}
        for row, count in enumerate(counts)
    ]


def stack_predictions(predictions: Sequence[Predictions]) -> Tensors:
    """Make a batch of one example each, detections padded."""
    if "boxes" not in predictions[0]:
        return {name: tf.constant(np.stack([one[name] for one in predictions])) for name in predictions[0]}
    counts = [len(one["scores"]) for one in predictions]
    most = max(counts)

    def pad(values: np.ndarray) -> np.ndarray:
        return np.pad(values, [(0, most - len(values)), *[(0, 0)] * (values.ndim - 1)])

    padded = {name: np.stack([pad(one[name]) for one in predictions]) for name in ("boxes", "scores", "classes")}
    if "losses" in predictions[0]:
        padded["losses"] = np.stack([one["losses"] for one in predictions])
    return {name: tf.constant(value) for name, value in (padded | {"count": np.array(counts, np.int32)}).items()}
