"""Box geometry in TensorFlow: `[ymin, xmin, ymax, xmax]`, shares of the image, last axis."""

import math

import tensorflow as tf

LEAST = 1e-9


def overlaps(a: tf.Tensor, b: tf.Tensor, kind: str = "iou") -> tf.Tensor:
    """Return the intersection over union of boxes (…, 4), less what `giou` or `ciou` takes off for their distance."""
    low, high = tf.maximum(a[..., :2], b[..., :2]), tf.minimum(a[..., 2:], b[..., 2:])
    shared = tf.maximum(high - low, 0.0)
    both = shared[..., 0] * shared[..., 1]
    union = area(a) + area(b) - both
    share = both / tf.maximum(union, LEAST)
    if kind == "iou":
        return share
    around = tf.maximum(a[..., 2:], b[..., 2:]) - tf.minimum(a[..., :2], b[..., :2])
    if kind == "giou":
        whole = around[..., 0] * around[..., 1]
        return share - (whole - union) / tf.maximum(whole, LEAST)
    (centre, size), (other_centre, other_size) = centres_and_sizes(a), centres_and_sizes(b)
    apart = tf.reduce_sum((centre - other_centre) ** 2, axis=-1)
    farthest = tf.maximum(tf.reduce_sum(around**2, axis=-1), LEAST)
    angles = [tf.atan(one[..., 1] / tf.maximum(one[..., 0], LEAST)) for one in (size, other_size)]
    shape = 4 / math.pi**2 * (angles[0] - angles[1]) ** 2
    weight = tf.stop_gradient(shape / tf.maximum(1 - share + shape, LEAST))
    return share - apart / farthest - weight * shape


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
