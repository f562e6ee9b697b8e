"""A trained network as a SavedModel that anyone with TensorFlow can run: pixels or files in, named answers out.

model = tf.saved_model.load("models/export/saved_model").signatures
model["serving_default"](images=...)   # uint8 (n, height, width, 3) of any size; clips (n, frames, height, width, 3)
model["encoded"](encoded=...)          # the bytes of JPEG or PNG files (n,), each of its own size; of clips (n, frames)
model["labels"]()                      # {"labels": (k,)} of all classes, in the order of their ids
-> detection       {"boxes": (n, m, 4) ymin xmin ymax xmax 0..1, "scores", "classes" ids 1..k, "labels", "count"}
-> classification  {"classes": (n,) ids 1..k, "scores" (n,), "labels" (n,), "probabilities": (n, k)}
                   {"scores": (n, k), "labels": (n, k) of every class} if an example may have several labels
"""

from collections.abc import Sequence
from pathlib import Path

import keras
import tensorflow as tf

from bakeoff.input import pixels
from bakeoff.input.shape import View
from bakeoff.tasks.task import Task, Tensors


def save_servable(network: keras.Model, task: Task, view: View, classes: Sequence[str], path: Path) -> None:
    texts = tf.constant(["", *classes])  # by id; no text for what is padding
    of_clips = len(network.input_shape) == 5
    shape = [*[None] * (len(network.input_shape) - 1), 3]

    @tf.function
    def answer(fitted: tf.Tensor) -> Tensors:
        found = task.predict(network(fitted, training=False))
        return found | {"labels": tf.gather(texts, _ids(found, len(classes)))}

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.uint8, name="images")])
    def of_pixels(images: tf.Tensor) -> Tensors:
        return answer(_each(images, lambda image: pixels.fit({"image": image}, view)["image"]))

    @tf.function(input_signature=[tf.TensorSpec([None, None] if of_clips else [None], tf.string, name="encoded")])
    def of_files(encoded: tf.Tensor) -> Tensors:
        def fitted(files: tf.Tensor) -> tf.Tensor:
            first = tf.io.decode_image(files[0] if of_clips else files, channels=3, expand_animations=False)
            size = tf.cast(tf.shape(first)[:2], tf.int64)
            return pixels.fit({"image": files, "size": size}, view)["image"]

        return answer(_each(encoded, fitted))

    @tf.function(input_signature=[])
    def labels() -> Tensors:
        return {"labels": texts[1:]}

    module = tf.Module()
    module.network = network  # so that the variables are saved with it
    signatures = {"serving_default": of_pixels, "encoded": of_files, "labels": labels}
    module.functions = list(signatures.values())
    tf.saved_model.save(module, str(path), signatures=signatures)


def _each(examples: tf.Tensor, fitted: object) -> tf.Tensor:
    return tf.map_fn(fitted, examples, fn_output_signature=tf.float32)


def _ids(found: Tensors, num_classes: int) -> tf.Tensor:
    """Whose texts stand beside the answers: 0 for none."""
    if "count" in found:
        places = tf.range(tf.shape(found["classes"])[1])
        return tf.where(places < found["count"][:, None], found["classes"], 0)
    if "classes" in found:
        return found["classes"]
    return tf.ones_like(found["scores"], tf.int64) * tf.range(1, num_classes + 1, dtype=tf.int64)
