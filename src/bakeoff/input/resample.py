"""A window of an image brought to a square of another size, in one pass; several ways to weigh the pixels.

What lies beside the image, where the window reaches beyond it, is filled with one colour.
"""

import tensorflow as tf

# The kernel, and whether it gets as wide as a pixel of the square where that is the larger one.
KERNELS = {
    "smooth": ("triangle", True),
    "bilinear": ("triangle", False),
    "nearest": ("box", False),
    "bicubic": ("keyscubic", False),
    "area": ("box", True),
}


def resampled(frames: tf.Tensor, corners: tf.Tensor, size: int, method: str = "smooth") -> tf.Tensor:
    """(t, h, w, 3), and a window (4,) of it in pixels -> (t, size, size, 3) float32; 0 beside the frames."""
    shape = frames.shape
    return tf.ensure_shape(_scaled(frames, corners, [size, size], method), [shape[0], size, size, shape[3]])


def filled(picture: tf.Tensor, frames: tf.Tensor, corners: tf.Tensor, fill: tf.Tensor) -> tf.Tensor:
    """`picture`, resampled from `frames`, with the colour `fill` (3,) beside them."""
    # One column and one row of ones, resampled by the same operation, so that no rounding tells them from the picture:
    # whichever the kernel, it leaves out the pixels whose centre lies beside the frames.
    height, width = tf.unstack(tf.shape(frames)[1:3], num=2)
    rows = tf.concat([corners[:1], [0.0], corners[2:3], [1.0]], axis=0)
    columns = tf.concat([[0.0], corners[1:2], [1.0], corners[3:]], axis=0)
    size = picture.shape[1]
    inside_rows = _scaled(tf.ones([1, height, 1, 1]), rows, [size, 1], "nearest")
    inside_columns = _scaled(tf.ones([1, 1, width, 1]), columns, [1, size], "nearest")
    return tf.where((inside_rows > 0) & (inside_columns > 0), picture, fill)


def _scaled(frames: tf.Tensor, corners: tf.Tensor, size: list[int], method: str) -> tf.Tensor:
    kernel, widens = KERNELS[method]
    scale = tf.constant(size, tf.float32) / (corners[2:] - corners[:2])
    return tf.raw_ops.ScaleAndTranslate(
        images=frames, size=size, scale=scale, translation=-corners[:2] * scale, kernel_type=kernel, antialias=widens
    )
