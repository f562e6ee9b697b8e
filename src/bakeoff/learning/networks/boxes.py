"""Box geometry in TensorFlow: `[ymin, xmin, ymax, xmax]`, shares of the image, last axis."""

import tensorflow as tf


def overlaps(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Intersection over union of every box of `a` (n, 4) with every box of `b` (m, 4): (n, m)."""
    low = tf.maximum(a[:, None, :2], b[None, :, :2])
    high = tf.minimum(a[:, None, 2:], b[None, :, 2:])
    both = tf.reduce_prod(tf.maximum(high - low, 0.0), axis=-1)
    union = area(a)[:, None] + area(b)[None, :] - both
    return tf.math.divide_no_nan(both, union)


def area(boxes: tf.Tensor) -> tf.Tensor:
    size = tf.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    return size[..., 0] * size[..., 1]  # the gradient of `reduce_prod` takes several times as long


def centres_and_sizes(boxes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    low, high = boxes[..., :2], boxes[..., 2:]
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
