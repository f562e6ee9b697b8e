"""The graph of a .tflite: one image or clip with values -1..1 in, answers out, weights as constants.

(1, size, size, 3) or (1, frames, size, size, 3) float32, which is (pixel - 127.5) / 127.5
-> detection       boxes, classes, scores, count: see post_process.py
-> classification  probabilities (1, k), or label_scores (1, k) if an example may have several labels
"""

from collections.abc import Callable

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from bakeoff.export.post_process import OUTPUTS, post_process
from bakeoff.run.options import Export
from bakeoff.tasks.classification import Classification, SeveralLabels
from bakeoff.tasks.detection import Detection
from bakeoff.tasks.task import Task

FIRST_LAYER = "to_unit_range"
MEAN = DEVIATION = 127.5


def lite_module(network: keras.Model, task: Task, num_classes: int, settings: Export) -> tf.Module:
    """Its function `answer` gives a dict in the order of the file's outputs."""
    shape = [1, *network.input_shape[1:]]
    inner = of_unit_range(network)

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32, name="image")])
    def raw(image: tf.Tensor) -> list[tf.Tensor]:
        outputs = inner(image)
        if isinstance(task, Detection):
            return [outputs["boxes"], task.class_scores(outputs["classes"])]
        found = task.predict(outputs)
        return [found.get("probabilities", found["scores"])]

    # As constants, for the operation below is recognised only in a SavedModel, and there variables stay variables.
    frozen = convert_variables_to_constants_v2(raw.get_concrete_function())
    detections = post_process(task.model, num_classes, settings) if isinstance(task, Detection) else None

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32, name="image")])
    def answer(image: tf.Tensor) -> dict[str, tf.Tensor]:
        found = frozen(image)
        return dict(zip(output_names(task), detections(*found) if detections else found, strict=True))

    module = tf.Module()
    module.answer = answer
    return module


def output_names(task: Task) -> tuple[str, ...]:
    if isinstance(task, Detection):
        return OUTPUTS
    several = isinstance(task, Classification) and isinstance(task.labels, SeveralLabels)
    return ("label_scores",) if several else ("probabilities",)


def of_unit_range(network: keras.Model) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """The network for values -1..1. Most begin by making them of pixels: then without that layer, else behind it."""
    first = next((layer for layer in network.layers if layer.name == FIRST_LAYER), None)
    if first is None:
        return lambda image: network(image * DEVIATION + MEAN, training=False)
    inner = keras.Model(first.output, network.output)
    return lambda image: inner(image, training=False)
