"""What `Expand` does, in TensorFlow."""

import tensorflow as tf

from bakeoff.input.augment.expand import Expand
from bakeoff.input.augment.scene import WHOLE, Scene
from bakeoff.input.keys import PHILOX


def expanded(scene: Scene, expand: Expand, key: tf.Tensor) -> Scene:
    draws = tf.random.stateless_uniform([5], key, alg=PHILOX)
    height = expand.smallest + draws[0] * (expand.largest - expand.smallest)
    width = expand.smallest + draws[1] * (expand.largest - expand.smallest)
    sides = tf.stack([height, height if expand.keep_aspect else width])
    corner = draws[2:4] * (1 - sides)
    canvas = tf.concat([corner, corner + sides], axis=0)
    return scene.through(tf.where(draws[4] < expand.probability, canvas, WHOLE), min_seen=0.0)
