"""What `Augment` and the resize to the network's input do, in TensorFlow."""

import math

import numpy as np
import tensorflow as tf

from bakeoff import boxes
from bakeoff.input.augment import Augment
from bakeoff.input.decode import Example

PHILOX = "philox"  # named, because the default generator is another one on some devices
GREY = 127.5  # what lies beside the image when it is zoomed out; zero to the network
YIQ_FROM_RGB = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32)
RGB_FROM_YIQ = np.linalg.inv(YIQ_FROM_RGB)
MIN_VISIBLE = 0.5  # a box of which a crop shows less is not asked for


def fit(example: Example, size: int, frames: int) -> Example:
    """The whole image at the network's input size, for evaluation; boxes are shares and stay."""
    image = tf.cast(_sample(example["image"], frames), tf.float32)
    return example | {"image": _window(image, tf.constant([0.0, 0.0, 1.0, 1.0]), size)}


def key(seed: int, *, epoch: tf.Tensor, example: tf.Tensor) -> tf.Tensor:
    """Names the randomness of one example in one epoch, (2,) int64."""
    of_epoch = tf.random.fold_in(tf.constant([seed, 0], tf.int64), epoch, alg=PHILOX)
    return tf.random.fold_in(of_epoch, example, alg=PHILOX)


def distort(example: Example, size: int, frames: int, *, augment: Augment, key: tf.Tensor) -> Example:
    """A changed example at the network's input size; `key` (2,) int64 names the randomness."""
    keys = tf.unstack(tf.random.split(key, 3, alg=PHILOX), num=3)
    window = _draw_window(augment, keys[0])
    image = _window(tf.cast(_sample(example["image"], frames), tf.float32), window, size)
    if augment.mirror:
        mirrored = tf.random.stateless_uniform([], keys[1], alg=PHILOX) < augment.mirror
        image = tf.where(mirrored, tf.reverse(image, [-2]), image)
    image = _recolour(image, augment, keys[2])
    changed = example | {"image": image}
    if "boxes" not in example:
        return changed
    moved, seen = _through(example["boxes"], window)
    if augment.mirror:
        y0, x0, y1, x1 = tf.unstack(moved, axis=-1)
        moved = tf.where(mirrored, tf.stack([y0, 1 - x1, y1, 1 - x0], axis=-1), moved)
    return changed | {"boxes": moved[seen], "classes": example["classes"][seen]}


def _sample(image: tf.Tensor, frames: int) -> tf.Tensor:
    """As many frames as the network wants, evenly over the clip; a shorter clip shows some twice."""
    if image.shape.rank < 4:
        return image
    last = tf.cast(tf.shape(image)[0] - 1, tf.float32)
    chosen = tf.cast(tf.round(tf.linspace(0.0, last, frames)), tf.int32)
    return tf.ensure_shape(tf.gather(image, chosen), [frames, None, None, 3])


def _draw_window(augment: Augment, key: tf.Tensor) -> tf.Tensor:
    """What part of the image is shown, `[ymin, xmin, ymax, xmax]` in shares; beyond 0..1 if it is zoomed out."""
    draws = tf.random.stateless_uniform([4], key, alg=PHILOX)
    low, high = tf.math.log(augment.zoom_in), tf.math.log(augment.zoom_out)
    side = tf.exp(low + draws[0] * (high - low))
    ratio = tf.exp((2 * draws[1] - 1) * tf.math.log(augment.stretch) / 2)
    shown = tf.stack([side / ratio, side * ratio])
    corner = draws[2:] * (1 - shown)  # negative if more than the image is shown
    return tf.concat([corner, corner + shown], axis=0)


def _window(image: tf.Tensor, window: tf.Tensor, size: int) -> tf.Tensor:
    """Cut `window` from an image (h, w, 3) or a clip (t, h, w, 3) and bring it to (size, size), smoothed."""
    frames = image if image.shape.rank == 4 else image[None]
    shape = tf.cast(tf.shape(frames)[1:3], tf.float32)
    scale = size / (shape * (window[2:] - window[:2]))
    cut = tf.raw_ops.ScaleAndTranslate(
        images=frames - GREY,  # the operation fills with zeros
        size=[size, size],
        scale=scale,
        translation=-window[:2] * shape * scale,
        kernel_type="triangle",
        antialias=True,
    )
    cut = tf.ensure_shape(cut + GREY, [None, size, size, 3])
    return cut if image.shape.rank == 4 else cut[0]


def _through(truth: tf.Tensor, window: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Boxes (n, 4) as shares of the window, cut to it, and which of them (n,) are still to be seen."""
    low, shown = window[:2], window[2:] - window[:2]
    moved = (truth - tf.tile(low, [2])) / tf.tile(shown, [2])
    cut = tf.clip_by_value(moved, 0.0, 1.0)
    return cut, boxes.area(cut) >= MIN_VISIBLE * boxes.area(moved)


def _recolour(image: tf.Tensor, augment: Augment, key: tf.Tensor) -> tf.Tensor:
    """Brightness, contrast, saturation and hue as one affine map of colours, which costs one pass over the pixels."""
    if not (augment.brightness or augment.contrast or augment.saturation or augment.hue):
        return image
    light, contrast, saturation, hue = tf.unstack(2 * tf.random.stateless_uniform([4], key, alg=PHILOX) - 1)
    stretch = 1 + contrast * augment.contrast
    chroma = stretch * (1 + saturation * augment.saturation)
    cosine = chroma * tf.cos(hue * augment.hue * 2 * math.pi)
    sine = chroma * tf.sin(hue * augment.hue * 2 * math.pi)
    in_yiq = tf.stack([stretch, 0, 0, 0, cosine, -sine, 0, sine, cosine])
    turn = RGB_FROM_YIQ @ tf.reshape(in_yiq, [3, 3]) @ YIQ_FROM_RGB
    around_grey = tf.reshape(image - GREY, [-1, 3]) @ tf.transpose(turn)
    changed = tf.reshape(around_grey, tf.shape(image)) + GREY + light * augment.brightness * 255
    return tf.ensure_shape(tf.clip_by_value(changed, 0.0, 255.0), image.shape)
