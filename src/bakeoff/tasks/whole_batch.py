"""Losses that are a sum over a batch, divided by what that batch holds, however many devices share it."""

import tensorflow as tf


def divisor(count: tf.Tensor | None) -> tf.Tensor | float:
    """What this device divides its sum by: `count` is of its own examples; None leaves the batch's sum as it is.

    Training takes the mean over the devices, so each divides by an equal share of the whole batch's count and not by
    its own: what an example weighs does not depend on which others share its device.
    """
    context = tf.distribute.get_replica_context()
    devices = context.num_replicas_in_sync if context else 1  # none: outside of what devices share
    if count is not None and devices > 1:
        count = context.all_reduce(tf.distribute.ReduceOp.SUM, count)
    whole = 1.0 if count is None else tf.maximum(count, 1.0)
    return whole / devices if devices > 1 else whole
