"""Which anchors are worth learning from: those with the highest losses (SSD, arXiv:1512.02325)."""

import tensorflow as tf

from bakeoff.networks.detector import HardExamples


def hard_examples(losses: tf.Tensor, boxes: tf.Tensor, truth: tf.Tensor, rule: HardExamples) -> tf.Tensor:
    """1.0 for the chosen anchors, (batch, anchors): by `losses` (batch, anchors), apart by `boxes` (batch, anchors, 4).

    Of the chosen every positive stays, and of the negatives the hardest, in proportion to those positives.
    """

    def of_image(image: tuple[tf.Tensor, tf.Tensor, tf.Tensor]) -> tf.Tensor:
        loss, corners, classes = image
        anchors = tf.size(loss)
        most = tf.minimum(rule.max_examples, anchors) if rule.max_examples else anchors
        hardest = tf.image.non_max_suppression(corners, loss, most, rule.max_overlap)  # in order of loss
        if rule.max_negatives_per_positive:
            positive = tf.gather(classes, hardest) > 0
            negative = tf.gather(classes, hardest) == 0
            allowed = rule.max_negatives_per_positive * tf.reduce_sum(tf.cast(positive, tf.int32))
            allowed = tf.maximum(allowed, rule.min_negatives_per_image)
            hardest = hardest[positive | (negative & (tf.cumsum(tf.cast(negative, tf.int32)) <= allowed))]
        return tf.scatter_nd(hardest[:, None], tf.ones_like(hardest, tf.float32), [anchors])

    chosen = tf.map_fn(of_image, (losses, boxes, truth), fn_output_signature=tf.TensorSpec([None], tf.float32))
    return tf.stop_gradient(tf.ensure_shape(chosen, losses.shape))
