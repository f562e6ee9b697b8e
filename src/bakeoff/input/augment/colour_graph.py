"""What `Colour` does, in TensorFlow, to images 0..255 (…, h, w, 3)."""

import math

import numpy as np
import tensorflow as tf

from bakeoff.input.augment.colour import Colour, Step
from bakeoff.input.keys import PHILOX, parts

MID_GREY = 127.5
YIQ_FROM_RGB = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32)
RGB_FROM_YIQ = np.linalg.inv(YIQ_FROM_RGB)


def recoloured(image: tf.Tensor, colour: Colour, key: tf.Tensor) -> tf.Tensor:
    of_order, of_amounts, of_grey = parts(key, 3)
    if colour.changes_colours:
        amounts = 2 * tf.random.stateless_uniform([4], of_amounts, alg=PHILOX) - 1
        ways = [lambda order=order: _in_steps(image, colour, amounts, order) for order in colour.orders]
        if ways:
            drawn = tf.random.stateless_uniform([], of_order, 0, len(ways), tf.int32, alg=PHILOX)
            changed = tf.switch_case(drawn, ways)
        else:
            changed = _at_once(image, colour, amounts)
        image = tf.ensure_shape(tf.clip_by_value(changed, 0.0, 255.0), image.shape)
    if colour.grey:
        is_grey = tf.random.stateless_uniform([], of_grey, alg=PHILOX) < colour.grey
        image = tf.ensure_shape(tf.cond(is_grey, lambda: _grey(image), lambda: image), image.shape)
    return image


def _grey(image: tf.Tensor) -> tf.Tensor:
    lightness = tf.linalg.matvec(image, YIQ_FROM_RGB[0])
    return tf.stack([lightness] * 3, axis=-1)


def _at_once(image: tf.Tensor, colour: Colour, amounts: tf.Tensor) -> tf.Tensor:
    """One affine map of colours, which costs one pass over the pixels."""
    light, contrast, saturation, hue = tf.unstack(amounts, num=4)
    stretch = 1 + contrast * colour.contrast
    chroma = stretch * (1 + saturation * colour.saturation)
    cosine = chroma * tf.cos(hue * colour.hue * 2 * math.pi)
    sine = chroma * tf.sin(hue * colour.hue * 2 * math.pi)
    in_yiq = tf.stack([stretch, 0, 0, 0, cosine, -sine, 0, sine, cosine])
    turn = RGB_FROM_YIQ @ tf.reshape(in_yiq, [3, 3]) @ YIQ_FROM_RGB
    around_grey = tf.reshape(image - MID_GREY, [-1, 3]) @ tf.transpose(turn)
    return tf.reshape(around_grey, tf.shape(image)) + MID_GREY + light * colour.brightness * 255


def _in_steps(image: tf.Tensor, colour: Colour, amounts: tf.Tensor, order: tuple[Step, ...]) -> tf.Tensor:
    """TensorFlow's operations, one after another; nothing is cut off before the last."""
    light, contrast, saturation, hue = tf.unstack(amounts, num=4)
    # A clip is one tall image, so that contrast is around the average of all frames.
    shares = tf.reshape(image, [-1, image.shape[-2], 3]) / 255
    for step in order:
        if step == "brightness" and colour.brightness:
            shares = shares + light * colour.brightness
        elif step == "contrast" and colour.contrast:
            shares = tf.image.adjust_contrast(shares, 1 + contrast * colour.contrast)
        elif step == "saturation" and colour.saturation:
            shares = tf.image.adjust_saturation(shares, 1 + saturation * colour.saturation)
        elif step == "hue" and colour.hue:
            shares = tf.image.adjust_hue(shares, hue * colour.hue)
    return tf.reshape(shares, tf.shape(image)) * 255
