"""What each anchor is asked and what it pays, before weights and sums: matching, losses, hard examples."""

import tensorflow as tf

from bakeoff.learning.networks.detector_settings import DetectionLoss, HardExamples

BACKGROUND, IGNORED = -1, -2
NO_BOX = -1.0  # the overlap with what only fills up a batch


def match(
    overlap: tf.Tensor,
    matched_from: float,
    background_below: float | None = None,
    every_box: bool = True,
    *,
    next_best: bool = True,
) -> tf.Tensor:
    """Return which box each anchor stands for, BACKGROUND or IGNORED: (…, anchors, boxes) -> (…, anchors) int64.

    An anchor stands for the box that it overlaps most, if by at least `matched_from`; from `background_below` up to
    there it is asked nothing. If `every_box` is to be matched, each that any free anchor overlaps at all gets one of
    its own besides, however little that is.
    """
    padded = _with_a_zero(overlap)  # so that an image without boxes is no special case
    most = tf.reduce_max(padded, axis=-1)
    best = tf.where(most >= matched_from, tf.argmax(padded, axis=-1), BACKGROUND)
    if background_below is not None:
        best = tf.where((most >= background_below) & (most < matched_from), tf.constant(IGNORED, tf.int64), best)
    if not every_box:
        return best
    if not next_best:
        return _with_best_anchors(best, overlap)
    own = _own_anchors(overlap)  # (…, boxes)
    given = tf.where(own >= 0)  # an image's place and a box's
    places = tf.concat([given[:, :-1], tf.gather_nd(own, given)[:, None]], axis=1)
    return tf.tensor_scatter_nd_update(best, places, given[:, -1])


def _with_a_zero(numbers: tf.Tensor) -> tf.Tensor:
    return tf.pad(numbers, [[0, 0]] * (len(numbers.shape) - 1) + [[0, 1]])


def _with_best_anchors(best: tf.Tensor, overlap: tf.Tensor) -> tf.Tensor:
    """Give each box the anchor that it overlaps most; the first of several boxes with the same one has it."""
    asks = tf.reduce_max(overlap, axis=-2) > NO_BOX
    wanted = tf.where(asks, tf.argmax(overlap, axis=-2), -1)[..., None, :]  # (…, 1, boxes)
    wants = _with_a_zero(tf.cast(wanted == tf.range(tf.shape(overlap, tf.int64)[-2])[:, None], tf.float32))
    return tf.where(tf.reduce_max(wants, axis=-1) > 0, tf.argmax(wants, axis=-1), best)


def _own_anchors(overlap: tf.Tensor) -> tf.Tensor:
    """Return an anchor for each box, (…, boxes) int64, or -1. Of two boxes that want the same, the closer gets it."""
    anchors, numbers = (tf.range(tf.shape(overlap, tf.int64)[axis]) for axis in (-2, -1))

    def ask(free: tf.Tensor, open_: tf.Tensor, own: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        left = tf.where(free[..., None] & open_[..., None, :], overlap, 0.0)
        wanted, closeness = tf.argmax(left, axis=-2), tf.reduce_max(left, axis=-2)
        same = (wanted[..., None] == wanted[..., None, :]) & (closeness > 0)[..., None, :]
        mine, other = closeness[..., None], closeness[..., None, :]
        closer = (other > mine) | ((other == mine) & (numbers < numbers[:, None]))
        gets = (closeness > 0) & ~tf.reduce_any(same & closer, axis=-1)
        taken = tf.reduce_any(tf.where(gets, wanted, -1)[..., None, :] == anchors[:, None], axis=-1)
        return free & ~taken, open_ & ~gets & (closeness > 0), tf.where(gets, wanted, own)

    free, open_ = tf.ones_like(tf.reduce_sum(overlap, axis=-1), tf.bool), tf.reduce_max(overlap, axis=-2) > 0
    start = (free, open_, -tf.ones_like(open_, tf.int64))
    return tf.while_loop(lambda free, open_, own: tf.reduce_any(open_), ask, start)[2]


def class_losses(
    logits: tf.Tensor, truth: tf.Tensor, rule: DetectionLoss, shares: tf.Tensor | None = None
) -> tf.Tensor:
    """Return (batch, anchors, numbers of an anchor), or 1 number for softmax; `truth` holds ids, 0: background.

    A teacher's `shares` (batch, anchors, k) are learnt instead; what they leave is background.
    """
    if shares is not None:
        return _taught_losses(logits, shares, rule)
    if rule.classes == "softmax":
        asked = tf.maximum(truth, 0)  # ignored anchors have weight 0, so their target does not matter
        return tf.nn.sparse_softmax_cross_entropy_with_logits(asked, logits)[..., None]
    first = 0 if rule.has_background else 1
    lowest = 0 if rule.background_is_class else 1  # anchors with a lower id have zeros as their target
    wanted = tf.one_hot(tf.where(truth >= lowest, truth - first, -1), logits.shape[-1])
    if rule.classes == "sigmoid":
        return tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    return _focal(logits, wanted, rule.focal_alpha, rule.focal_gamma)


def _taught_losses(logits: tf.Tensor, shares: tf.Tensor, rule: DetectionLoss) -> tf.Tensor:
    if rule.has_background:
        is_asked = rule.classes == "softmax" or rule.background_is_class
        background = float(is_asked) * (1 - tf.reduce_sum(shares, axis=-1, keepdims=True))
        shares = tf.concat([background, shares], axis=-1)
    if rule.classes == "softmax":
        return tf.nn.softmax_cross_entropy_with_logits(shares, logits)[..., None]
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(shares, logits)
    if rule.classes == "sigmoid":
        return entropy
    missed = tf.maximum(tf.abs(shares - tf.sigmoid(logits)), 1e-12)  # least where the answer is the share
    weight = shares * rule.focal_alpha + (1 - shares) * (1 - rule.focal_alpha)
    return weight * missed**rule.focal_gamma * entropy


def smooth_l1(difference: tf.Tensor, delta: float) -> tf.Tensor:
    """Half the square up to `delta`, then a line of slope `delta` (Huber)."""
    size = tf.abs(difference)
    return tf.where(size < delta, size * size / 2, delta * (size - delta / 2))


def _focal(logits: tf.Tensor, wanted: tf.Tensor, alpha: float, gamma: float) -> tf.Tensor:
    """Binary cross-entropy, less for what is already answered well (Lin et al., arXiv:1708.02002)."""
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    answer = tf.sigmoid(logits)
    missed = wanted * (1 - answer) + (1 - wanted) * answer
    missed = tf.maximum(missed, 1e-12)  # a power below 1 has an infinite gradient at 0
    weight = wanted * alpha + (1 - wanted) * (1 - alpha)
    return weight * missed**gamma * entropy


def hard_examples(losses: tf.Tensor, boxes: tf.Tensor, truth: tf.Tensor, rule: HardExamples) -> tf.Tensor:
    """Return 1.0 for the anchors that are worth learning from, (batch, anchors): those with the highest losses.

    By `losses` (batch, anchors), apart by `boxes` (batch, anchors, 4), as SSD has it (arXiv:1512.02325). Of the chosen
    every positive stays, and of the negatives the hardest, in proportion to those positives.
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
