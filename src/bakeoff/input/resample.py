"""A window of an image brought to a square of another size, in one pass; several ways to weigh the pixels."""

import tensorflow as tf

# The kernel, and whether it gets as wide as a pixel of the square where that is the larger one.
KERNELS = {
    "smooth": ("triangle", True),
    "bilinear": ("triangle", False),
    "nearest": ("box", False),
    "bicubic": ("keyscubic", False),
    "area": ("box", True),
}
MILD = 1.25


def resampled(frames: tf.Tensor, corners: tf.Tensor, size: int, method: str = "smooth") -> tf.Tensor:
    """(t, h, w, 3), and a window (4,) of it in pixels -> (t, size, size, 3) float32; zero beside the frames."""
    kernel, widens = KERNELS[method]
    scale = size / (corners[2:] - corners[:2])
    image = tf.raw_ops.ScaleAndTranslate(
        images=frames,
        size=[size, size],
        scale=scale,
        translation=-corners[:2] * scale,
        kernel_type=kernel,
        antialias=widens,
    )
    return tf.ensure_shape(image, [frames.shape[0], size, size, frames.shape[3]])


def whole_resampled(frames: tf.Tensor, size: int, method: str = "smooth") -> tf.Tensor:
    """All of (t, h, w, 3). Where no side shrinks by more than `MILD`, smooth is bilinear: it looks at every pixel as
    well, is less than one level of 255 away on average, and takes a sixth of the time."""

    def as_asked() -> tf.Tensor:
        return resampled(frames, tf.cast(tf.concat([[0, 0], sides], axis=0), tf.float32), size, method)

    def bilinearly() -> tf.Tensor:
        image = tf.raw_ops.ResizeBilinear(images=frames, size=[size, size], half_pixel_centers=True)
        return tf.ensure_shape(image, [frames.shape[0], size, size, frames.shape[3]])

    if method == "bilinear":
        return bilinearly()
    if method != "smooth":
        return as_asked()
    sides = tf.shape(frames)[1:3]
    return tf.cond(tf.reduce_all(sides <= int(size * MILD)), bilinearly, as_asked)
