"""Box geometry in TensorFlow: `[ymin, xmin, ymax, xmax]`, shares of the image, last axis."""

import math

import tensorflow as tf

LEAST = 1e-9


def overlaps(a: tf.Tensor, b: tf.Tensor, kind: str = "iou") -> tf.Tensor:
    """Return the intersection over union of boxes (…, 4), less what `giou` or `ciou` takes off for their distance."""
    (low, high), (other_low, other_high) = corners(a), corners(b)
    both = _product(tf.maximum(tf.minimum(high, other_high) - tf.maximum(low, other_low), 0.0))
    union = area(a) + area(b) - both
    share = both / tf.maximum(union, LEAST)
    if kind == "iou":
        return share
    around = tf.maximum(high, other_high) - tf.minimum(low, other_low)
    if kind == "giou":
        whole = _product(around)
        return share - (whole - union) / tf.maximum(whole, LEAST)
    (centre, size), (other_centre, other_size) = centres_and_sizes(a), centres_and_sizes(b)
    apart = tf.reduce_sum((centre - other_centre) ** 2, axis=-1)
    farthest = tf.maximum(tf.reduce_sum(around**2, axis=-1), LEAST)
    sides = [tf.unstack(one, num=2, axis=-1) for one in (size, other_size)]
    angles = [tf.atan(width / tf.maximum(height, LEAST)) for height, width in sides]
    shape = 4 / math.pi**2 * (angles[0] - angles[1]) ** 2
    weight = tf.stop_gradient(shape / tf.maximum(1 - share + shape, LEAST))
    return share - apart / farthest - weight * shape


def area(boxes: tf.Tensor) -> tf.Tensor:
    low, high = corners(boxes)
    return _product(tf.maximum(high - low, 0.0))


def corners(boxes: tf.Tensor) -> list[tf.Tensor]:
    """Return the first two numbers of each box, and the last two. Slices make graphs of several times the size."""
    return tf.split(boxes, 2, axis=-1)


def _product(pairs: tf.Tensor) -> tf.Tensor:
    first, second = tf.unstack(pairs, num=2, axis=-1)
    return first * second  # the gradient of `reduce_prod` takes several times as long


def centres_and_sizes(boxes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    low, high = corners(boxes)
    return (low + high) / 2, high - low


def code(boxes: tf.Tensor, anchors: tf.Tensor, scales: tuple[float, ...]) -> tf.Tensor:
    """Boxes as offsets from their anchors: centre shifts in anchor sizes, log size ratios, times `scales`."""
    centre, size = centres_and_sizes(boxes)
    anchor_centre, anchor_size = centres_and_sizes(anchors)
    shift = (centre - anchor_centre) / anchor_size
    growth = tf.math.log(tf.maximum(size, 1e-6) / anchor_size)
    return tf.concat([shift, growth], axis=-1) * tf.constant(scales)


def decode(codes: tf.Tensor, anchors: tf.Tensor, scales: tuple[float, ...]) -> tf.Tensor:
    """The inverse of `code`."""
    codes = codes / tf.constant(scales)
    anchor_centre, anchor_size = centres_and_sizes(anchors)
    centre = codes[..., :2] * anchor_size + anchor_centre
    half = tf.exp(tf.minimum(codes[..., 2:], 10.0)) * anchor_size / 2
    return tf.concat([centre - half, centre + half], axis=-1)
