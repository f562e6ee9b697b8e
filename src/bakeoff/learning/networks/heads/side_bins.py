"""Sides of boxes as shares of bins: which shares a side is to have, and how wide answered ones are."""

import math

import tensorflow as tf


def shares_of(points: tf.Tensor, place: tf.Tensor, spread: tf.Tensor | None = None) -> tf.Tensor:
    """Return shares (…, bins) whose mean is `place` (…): of the two bins around it, of `points`, which rise.

    With a `spread` (…) the place is normal, with this standard deviation, and each part of it has its two bins. Beyond
    the ends the last bin has all. A bin has what lies ahead of the place in the gap behind it, less the same of the
    gap before it.
    """
    gaps = points[1:] - points[:-1]
    if spread is None:
        ahead = tf.clip_by_value((points[1:] - place[..., None]) / gaps, 0.0, 1.0)
    else:  # differences of numbers that are almost equal
        ramp = _mean_ramp(*(tf.cast(one, tf.float64) for one in (points - place[..., None], spread[..., None])))
        ahead = tf.cast(ramp[..., 1:] - ramp[..., :-1], tf.float32) / gaps
    end = tf.zeros_like(ahead[..., :1])
    return tf.maximum(tf.concat([ahead, end + 1], axis=-1) - tf.concat([end, ahead], axis=-1), 0.0)


def _mean_ramp(ahead: tf.Tensor, spread: tf.Tensor) -> tf.Tensor:
    """Return the mean of max(x, 0) over a normal x around `ahead`."""
    width = tf.where(spread > 0, spread, 1.0)
    z = ahead / width
    mean = ahead * 0.5 * tf.math.erfc(-z / math.sqrt(2)) + width * tf.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return tf.where(spread > 0, mean, tf.maximum(ahead, 0.0))


def widths_of(points: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return the standard deviation of each side (…), whose bins have these logits (…, bins)."""
    shares = tf.nn.softmax(logits)
    mean = tf.reduce_sum(shares * points, axis=-1, keepdims=True)
    return tf.sqrt(tf.reduce_sum(shares * (points - mean) ** 2, axis=-1))


def spread_of(widths: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
    """Return how sure sides are, as one number a box: the mean of their standard deviations (…, n, 4), each in shares
    of the box. `sizes` (…, n, 4) has of each side the size that lies across it, in the same unit."""
    return tf.reduce_mean(tf.math.divide_no_nan(widths, sizes), axis=-1)
