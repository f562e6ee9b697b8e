"""Change brightness, contrast, saturation and hue, or take the colour away.

Without `orders` the four are one linear map of colours, done in one pass over the pixels: contrast around mid-grey,
saturation and hue around the grey axis. With `orders` they are TensorFlow's own operations, one after another in an
order drawn for each example, as Inception's training has them: contrast around the image's average, saturation and
hue of the HSV cone.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bakeoff.foundation.errors import require, require_between

if TYPE_CHECKING:
    import tensorflow as tf

Step = Literal["brightness", "contrast", "saturation", "hue"]
STEPS: frozenset[Step] = frozenset({"brightness", "contrast", "saturation", "hue"})
MID_GREY = 127.5
YIQ_FROM_RGB = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32)
RGB_FROM_YIQ = np.linalg.inv(YIQ_FROM_RGB)


@dataclass(frozen=True)
class Colour:
    brightness: float = 0.0  # share of the full range, up or down
    contrast: float = 0.0  # factors from 1 - contrast to 1 + contrast
    saturation: float = 0.0  # likewise
    hue: float = 0.0  # share of the colour circle, either way
    grey: float = 0.0  # probability
    orders: tuple[tuple[Step, ...], ...] = ()  # of the four steps; one order is drawn

    def __post_init__(self) -> None:
        require_between(self, hue=(0, 0.5), brightness=(0, 1), grey=(0, 1))
        for key in ("contrast", "saturation"):
            require(0 <= getattr(self, key) < 1, key, getattr(self, key), "at least 0 and under 1")
        whole = all(len(order) == len(STEPS) and set(order) == STEPS for order in self.orders)
        given = [list(order) for order in self.orders]
        require(whole, "orders", given, "lists that each name brightness, contrast, saturation and hue once")

    def apply(self, image: "tf.Tensor", boxes: "tf.Tensor", key: "tf.Tensor") -> tuple["tf.Tensor", "tf.Tensor"]:
        """Change images 0..255 (…, h, w, 3); boxes stay."""
        import tensorflow as tf

        from bakeoff.learning.input.augment.scene import draw, draw_number, split_key

        of_order, of_amounts, of_grey = split_key(key, 3)
        if self.brightness or self.contrast or self.saturation or self.hue:
            amounts = 2 * draw(of_amounts, 4) - 1
            ways = [lambda order=order: self._change_in_steps(image, amounts, order) for order in self.orders]
            if ways:
                changed = tf.switch_case(draw_number(of_order, len(ways)), ways)
            else:
                changed = self._change_at_once(image, amounts)
            image = tf.ensure_shape(tf.clip_by_value(changed, 0.0, 255.0), image.shape)
        if self.grey:
            changed = tf.cond(draw(of_grey) < self.grey, lambda: _take_colour(image), lambda: image)
            image = tf.ensure_shape(changed, image.shape)
        return image, boxes

    def _change_at_once(self, image: "tf.Tensor", amounts: "tf.Tensor") -> "tf.Tensor":
        """Apply one affine map of colours, which costs one pass over the pixels."""
        import tensorflow as tf

        light, contrast, saturation, hue = tf.unstack(amounts, num=4)
        stretch = 1 + contrast * self.contrast
        chroma = stretch * (1 + saturation * self.saturation)
        cosine = chroma * tf.cos(hue * self.hue * 2 * math.pi)
        sine = chroma * tf.sin(hue * self.hue * 2 * math.pi)
        in_yiq = tf.stack([stretch, 0, 0, 0, cosine, -sine, 0, sine, cosine])
        turn = RGB_FROM_YIQ @ tf.reshape(in_yiq, [3, 3]) @ YIQ_FROM_RGB
        around_grey = tf.reshape(image - MID_GREY, [-1, 3]) @ tf.transpose(turn)
        return tf.reshape(around_grey, tf.shape(image)) + MID_GREY + light * self.brightness * 255

    def _change_in_steps(self, image: "tf.Tensor", amounts: "tf.Tensor", order: tuple[Step, ...]) -> "tf.Tensor":
        """Apply TensorFlow's operations, one after another; nothing is cut off before the last."""
        import tensorflow as tf

        light, contrast, saturation, hue = tf.unstack(amounts, num=4)
        # A clip is one tall image, so that contrast is around the average of all frames.
        shares = tf.reshape(image, [-1, image.shape[-2], 3]) / 255
        for step in order:
            if step == "brightness" and self.brightness:
                shares = shares + light * self.brightness
            elif step == "contrast" and self.contrast:
                shares = tf.image.adjust_contrast(shares, 1 + contrast * self.contrast)
            elif step == "saturation" and self.saturation:
                shares = tf.image.adjust_saturation(shares, 1 + saturation * self.saturation)
            elif step == "hue" and self.hue:
                shares = tf.image.adjust_hue(shares, hue * self.hue)
        return tf.reshape(shares, tf.shape(image)) * 255


def _take_colour(image: "tf.Tensor") -> "tf.Tensor":
    import tensorflow as tf

    return tf.stack([tf.linalg.matvec(image, YIQ_FROM_RGB[0])] * 3, axis=-1)
