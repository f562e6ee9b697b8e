"""What `Zoom` does, in TensorFlow."""

import tensorflow as tf

from bakeoff.input.augment.scene import Scene
from bakeoff.input.augment.zoom import MIN_SEEN, Zoom
from bakeoff.input.keys import PHILOX


def zoomed(scene: Scene, zoom: Zoom, key: tf.Tensor) -> Scene:
    return scene.through(draw_window(zoom, key), MIN_SEEN)


def draw_window(zoom: Zoom, key: tf.Tensor) -> tf.Tensor:
    """`[ymin, xmin, ymax, xmax]` in shares; beyond 0..1 if it is seen from farther away."""
    draws = tf.random.stateless_uniform([4], key, alg=PHILOX)
    low, high = tf.math.log(zoom.smallest), tf.math.log(zoom.largest)
    side = tf.exp(low + draws[0] * (high - low))
    ratio = tf.exp((2 * draws[1] - 1) * tf.math.log(zoom.stretch) / 2)
    shown = tf.stack([side / ratio, side * ratio])
    corner = draws[2:] * (1 - shown)  # negative if more than the image is shown
    return tf.concat([corner, corner + shown], axis=0)
