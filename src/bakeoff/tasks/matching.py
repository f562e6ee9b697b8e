"""Which anchor stands for which box."""

import tensorflow as tf

BACKGROUND, IGNORED = -1, -2


def match(
    overlap: tf.Tensor, matched_from: float, background_below: float | None = None, every_box: bool = True
) -> tf.Tensor:
    """The number of the box that each anchor stands for, BACKGROUND or IGNORED: (anchors, boxes) -> (anchors,) int64.

    An anchor stands for the box that it overlaps most, if by at least `matched_from`; from `background_below` up to
    there it is asked nothing. If `every_box` is to be matched, each that any free anchor overlaps at all gets one of
    its own besides, however little that is.
    """
    anchors, boxes = tf.shape(overlap, tf.int64)[0], tf.shape(overlap, tf.int64)[1]
    padded = tf.concat([overlap, tf.zeros([anchors, 1])], axis=1)  # so that no box at all needs no case of its own
    most = tf.reduce_max(padded, axis=1)
    best = tf.where(most >= matched_from, tf.argmax(padded, axis=1), BACKGROUND)
    if background_below is not None:
        best = tf.where((most >= background_below) & (most < matched_from), tf.constant(IGNORED, tf.int64), best)
    if not every_box:
        return best
    own = _own_anchors(overlap)  # (boxes,)
    given = own >= 0
    return tf.tensor_scatter_nd_update(best, own[given][:, None], tf.range(boxes)[given])


def _own_anchors(overlap: tf.Tensor) -> tf.Tensor:
    """An anchor for each box, (boxes,) int64, or -1. Of two boxes that want the same, the closer gets it."""
    numbers = tf.range(tf.shape(overlap)[1])

    def ask(free: tf.Tensor, open_: tf.Tensor, own: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        left = tf.where(free[:, None] & open_[None], overlap, 0.0)
        wanted, closeness = tf.argmax(left, axis=0), tf.reduce_max(left, axis=0)
        same = (wanted[:, None] == wanted[None]) & (closeness > 0)[None]
        closer = (closeness[None] > closeness[:, None]) | (
            (closeness[None] == closeness[:, None]) & (numbers[None] < numbers[:, None])
        )
        gets = (closeness > 0) & ~tf.reduce_any(same & closer, axis=1)
        taken = tf.scatter_nd(wanted[gets][:, None], tf.ones_like(wanted[gets]), tf.shape(free, tf.int64)) > 0
        return free & ~taken, open_ & ~gets & (closeness > 0), tf.where(gets, wanted, own)

    start = (tf.ones(tf.shape(overlap)[:1], tf.bool), tf.ones_like(numbers, tf.bool), -tf.ones_like(numbers, tf.int64))
    return tf.while_loop(lambda free, open_, own: tf.reduce_any(open_), ask, start)[2]
