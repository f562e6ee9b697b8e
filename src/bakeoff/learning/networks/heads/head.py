"""What the outputs of a detector mean. Each kind of detector has a head of its own, the task asks nothing else.

Outputs are {"boxes": (batch, candidates, …), "classes": (batch, candidates, …)}, as the network's graph gives them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np
import tensorflow as tf

Tensors = dict[str, tf.Tensor]
Hold = Callable[[tf.Tensor, float, float], tf.Tensor]  # is told between which bounds numbers are
Add = Callable[[tf.Tensor], tf.Tensor]  # makes one sum of a whole batch, or one of each image
TOLD = ("boxes", "classes", "shares", "spreads")  # of an example, the last two by a teacher
BELOW_1 = 255 / 256  # the greatest share or score in eight bits


class Head(Protocol):
    @property
    def anchors(self) -> np.ndarray:
        """(candidates, 4) ymin xmin ymax xmax, shares of the image: the boxes that `codes` count from."""

    @property
    def box_scales(self) -> tuple[float, ...]:
        """How much finer `codes` are than shares of an anchor: y, x, height, width."""

    def encode(self, examples: Tensors) -> Tensors:
        """Return the targets of a batch, from its `boxes` (batch, n, 4) and `classes` (batch, n) ids 1..k, 0: padding.

        A teacher's lesson has more: `shares` (batch, n, k), what is learnt of each class instead of the one, and
        `spreads` (batch, n), the standard deviation of the sides in shares of the box. Targets whose shape differs
        between batches are padded with zeros where these are joined.
        """

    def losses(self, outputs: Tensors, targets: Tensors, add: Add = tf.reduce_sum) -> tuple[Tensors, tf.Tensor]:
        """Return the parts of the loss, "classes" and "boxes", and what the sums of this batch alone are divided by.

        With `add_by_image`, each image is a batch by itself.
        """

    def boxes(self, outputs: Tensors) -> tf.Tensor:
        """Return (batch, candidates, 4) ymin xmin ymax xmax, shares of the image; they may reach out of it."""

    def scores(self, outputs: Tensors) -> tf.Tensor:
        """Return (batch, candidates, k), without a background."""

    def spreads(self, outputs: Tensors) -> tf.Tensor:
        """Return (batch, candidates): how sure the sides are, as in a lesson; 0 of a head that does not say it."""

    def codes(self, outputs: Tensors) -> tf.Tensor:
        """Return `boxes` as offsets from `anchors`, times `box_scales`: what `networks.boxes.decode` turns back."""


def add_by_image(values: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(values, axis=list(range(1, len(values.shape))))


def as_it_is(numbers: tf.Tensor, least: float, greatest: float) -> tf.Tensor:
    """Return the numbers, wherever they are."""
    return numbers


class BoxTargets:
    """What the heads share whose targets are the boxes of the example, for it depends on the answers who finds them."""

    def encode(self, examples: Tensors) -> Tensors:
        """Return what is told, with a row of padding, so that no example is without."""
        return {name: tf.pad(value, [[0, 0], [0, 1], [0, 0]][: len(value.shape)]) for name, value in examples.items()}


class GridHead(BoxTargets, ABC):
    """What the heads of detectors share that have a point in each cell of their grids."""

    box_scales: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)

    def __init__(self, places: np.ndarray, steps: np.ndarray) -> None:
        """Take the middles of the cells (points, 2), and how large these are (points, 1), in shares of the image."""
        self.anchors = np.concatenate([places - steps / 2, places + steps / 2], axis=1)
        self._places, self._steps = tf.constant(places), tf.constant(steps)

    @abstractmethod
    def boxes(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor:
        """Return what a `Head` does. With a `hold` that rounds, the bounds of boxes are the image's."""

    @abstractmethod
    def scores(self, outputs: Tensors, hold: Hold = as_it_is) -> tf.Tensor: ...

    def spreads(self, outputs: Tensors) -> tf.Tensor:
        return no_spreads(outputs)


def no_spreads(outputs: Tensors) -> tf.Tensor:
    return tf.zeros_like(outputs["classes"][..., 0])


def find_shares(targets: Tensors, rows: tf.Tensor, ids: tf.Tensor, classes: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return what is learnt of each class where box `rows` (batch, n) are asked for, and of there being any object.

    It is the class of `ids`, 0: none; or what a teacher says.
    """
    if "shares" not in targets:
        return tf.one_hot(ids - 1, classes), tf.cast(ids > 0, tf.float32)
    shares = tf.where(ids[..., None] > 0, tf.gather(targets["shares"], rows, batch_dims=1), 0.0)
    return shares, tf.reduce_sum(shares, axis=-1)


def divisor(count: tf.Tensor | None) -> tf.Tensor | float:
    """Return what this device divides its sum by: `count` is of its own examples; None leaves the batch's sum.

    Training takes the mean over the devices, so each divides by an equal share of the whole batch's count and not by
    its own: what an example weighs does not depend on which others share its device.
    """
    context = tf.distribute.get_replica_context()
    devices = context.num_replicas_in_sync if context else 1  # there is no context outside of a distribution strategy
    if count is not None and devices > 1:
        count = context.all_reduce(tf.distribute.ReduceOp.SUM, count)
    whole = 1.0 if count is None else tf.maximum(count, 1.0)
    return whole / devices if devices > 1 else whole
