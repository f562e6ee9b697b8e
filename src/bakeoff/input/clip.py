"""Which frames of a clip a network is shown, chosen before any is decoded."""

import tensorflow as tf

from bakeoff.input.keys import PHILOX
from bakeoff.networks.network import Sampling


def chosen_frames(
    sampling: Sampling, wanted: int, available: tf.Tensor, key: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """(wanted,) frame numbers, and which of them (wanted,) are to be black; without a key what is centred."""
    if sampling.cover == "whole":  # a shorter clip shows some twice
        last = tf.cast(available - 1, tf.float32)
        return tf.cast(tf.round(tf.linspace(0.0, last, wanted)), tf.int32), tf.zeros([wanted], tf.bool)
    room = tf.maximum(available - (wanted - 1) * sampling.stride - 1, 0)
    if key is None or sampling.start == "centred":
        start = room // 2
    else:
        start = tf.random.stateless_uniform([], key, 0, room + 1, tf.int32, alg=PHILOX)
    numbers = start + sampling.stride * tf.range(wanted)
    inside = tf.minimum(numbers, available - 1)
    if sampling.short == "loop":
        return numbers % available, tf.zeros([wanted], tf.bool)
    return inside, (numbers > inside) & (sampling.short == "zeros")
