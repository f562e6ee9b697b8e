"""A trained network as a SavedModel that anyone with TensorFlow can run: pixels in, named answers out.

answer = tf.saved_model.load("models/export/saved_model").signatures["serving_default"]
answer(images=...)   # uint8 (n, height, width, 3) of any size; clips (n, frames, height, width, 3)
-> detection       {"boxes": (n, m, 4) ymin xmin ymax xmax 0..1, "scores", "classes" ids 1..k, "count"}
-> classification  {"classes": (n,) ids 1..k, "scores": (n,), "probabilities": (n, k)}
                   {"scores": (n, k)} if an example may have several labels
"""

from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from bakeoff.tasks.task import Task


def save_servable(network: keras.Model, task: Task, resize: Callable[[tf.Tensor], tf.Tensor], path: Path) -> None:
    """`resize` brings images or clips of any size to the network's."""
    shape = [*[None] * (len(network.input_shape) - 1), 3]

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.uint8, name="images")])
    def answer(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return task.predict(network(resize(images), training=False))

    module = tf.Module()
    module.network, module.answer = network, answer  # so that the variables are saved with it
    tf.saved_model.save(module, str(path), signatures={"serving_default": answer})
