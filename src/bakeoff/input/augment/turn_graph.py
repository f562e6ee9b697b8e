"""What `Turn` does, in TensorFlow, to images (…, side, side, 3) and to boxes (n, 4) in shares."""

from collections.abc import Callable

import tensorflow as tf

from bakeoff.input.augment.turn import Turn
from bakeoff.input.keys import PHILOX


def turned(image: tf.Tensor, boxes: tf.Tensor, turn: Turn, key: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    draws = tf.random.stateless_uniform([3], key, alg=PHILOX)
    y0, x0, y1, x1 = tf.unstack(boxes, axis=-1)
    if turn.mirror:
        is_drawn = draws[0] < turn.mirror
        image = _done_if(is_drawn, lambda given: tf.reverse(given, [-2]), image)
        x0, x1 = _either(is_drawn, (1 - x1, 1 - x0), (x0, x1))
    if turn.upside_down:
        is_drawn = draws[1] < turn.upside_down
        image = _done_if(is_drawn, lambda given: tf.reverse(given, [-3]), image)
        y0, y1 = _either(is_drawn, (1 - y1, 1 - y0), (y0, y1))
    if turn.quarter:
        is_drawn = draws[2] < turn.quarter
        image = _done_if(is_drawn, lambda given: tf.reverse(_swapped(given), [-3]), image)
        y0, x0, y1, x1 = _either(is_drawn, (1 - x1, y0, 1 - x0, y1), (y0, x0, y1, x1))
    return image, tf.stack([y0, x0, y1, x1], axis=-1)


def _done_if(is_drawn: tf.Tensor, turned: Callable[[tf.Tensor], tf.Tensor], image: tf.Tensor) -> tf.Tensor:
    """Moves no pixel unless it is drawn."""
    return tf.ensure_shape(tf.cond(is_drawn, lambda: turned(image), lambda: image), image.shape)


def _either(is_drawn: tf.Tensor, changed: tuple[tf.Tensor, ...], unchanged: tuple[tf.Tensor, ...]) -> list[tf.Tensor]:
    return [tf.where(is_drawn, a, b) for a, b in zip(changed, unchanged, strict=True)]


def _swapped(image: tf.Tensor) -> tf.Tensor:
    """Rows for columns."""
    axes = list(range(image.shape.rank))
    return tf.transpose(image, [*axes[:-3], axes[-2], axes[-3], axes[-1]])
