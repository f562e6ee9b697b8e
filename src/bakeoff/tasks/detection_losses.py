"""What each anchor pays for its answers, before weights and sums."""

import tensorflow as tf

from bakeoff.networks.detector import DetectionLoss


def class_losses(logits: tf.Tensor, truth: tf.Tensor, rule: DetectionLoss) -> tf.Tensor:
    """(batch, anchors, numbers of an anchor), or (batch, anchors, 1) for softmax; `truth` holds ids, 0: background."""
    if rule.classes == "softmax":
        asked = tf.maximum(truth, 0)  # what is asked nothing has no weight, whatever its loss
        return tf.nn.sparse_softmax_cross_entropy_with_logits(asked, logits)[..., None]
    wanted = tf.one_hot(truth - 1, logits.shape[-1])  # the background is a row of zeros
    if rule.classes == "sigmoid":
        return tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    return _focal(logits, wanted, rule.focal_alpha, rule.focal_gamma)


def smooth_l1(difference: tf.Tensor, delta: float) -> tf.Tensor:
    """Half the square up to `delta`, then a line of slope `delta` (Huber)."""
    size = tf.abs(difference)
    return tf.where(size < delta, size * size / 2, delta * (size - delta / 2))


def _focal(logits: tf.Tensor, wanted: tf.Tensor, alpha: float, gamma: float) -> tf.Tensor:
    """Binary cross-entropy, less for what is already answered well (Lin et al., arXiv:1708.02002)."""
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    answer = tf.sigmoid(logits)
    missed = wanted * (1 - answer) + (1 - wanted) * answer
    missed = tf.maximum(missed, 1e-12)  # the slope of a power below 1 has no end at 0
    weight = wanted * alpha + (1 - wanted) * (1 - alpha)
    return weight * missed**gamma * entropy
