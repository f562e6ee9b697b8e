"""Names for randomness: one key for every example of every epoch, under every seed."""

import zlib

import tensorflow as tf

PHILOX = "philox"  # named, because the default generator is another one on some devices


def key(seed: int, *, epoch: tf.Tensor, example: tf.Tensor) -> tf.Tensor:
    """Names the randomness of one example in one epoch, (2,) int64."""
    of_epoch = tf.random.fold_in(tf.constant([seed, 0], tf.int64), epoch, alg=PHILOX)
    return tf.random.fold_in(of_epoch, example, alg=PHILOX)


def parts(key: tf.Tensor, count: int) -> list[tf.Tensor]:
    """Independent keys, (2,) each."""
    return tf.unstack(tf.random.split(key, count, alg=PHILOX), num=count)


def named(key: tf.Tensor, name: str) -> tf.Tensor:
    """A key (2,) of this name's own, whatever other names there are."""
    return tf.random.fold_in(key, tf.constant(zlib.crc32(name.encode()), tf.int64), alg=PHILOX)
