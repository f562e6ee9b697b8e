"""The layout of YOLOv8 by Qualcomm, as PhotonVision reads it on a Rubik Pi 3: each point's box and likeliest class.

image (1, size, size, 3) -> boxes (1, points, 4) x1 y1 x2 y2 in pixels, scores (1, points), classes (1, points) from 0,
in whole numbers of 8 bits all uint8. Its code: https://github.com/PhotonVision/rubik_jni, yoloPostProc.cpp.
"""

from functools import partial

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from bakeoff.export.lite_graph import of_unit_range
from bakeoff.graphs import compile_graph
from bakeoff.networks.head import Head

CORNERS = ("boxes", "scores", "classes")


def corner_module(network: keras.Model, head: Head) -> tf.Module:
    """Return a module whose function `answer` is the graph of a .tflite, for values -1..1."""
    inner, size = of_unit_range(network), float(network.input_shape[1])

    given = [tf.TensorSpec([1, *network.input_shape[1:]], tf.float32, name="image")]

    @partial(compile_graph, input_signature=given)
    def raw(image: tf.Tensor) -> list[tf.Tensor]:
        outputs = inner(image)
        top, left, bottom, right = tf.split(head.boxes(outputs), 4, axis=-1)
        scores = head.scores(outputs)
        corners = tf.clip_by_value(tf.concat([left, top, right, bottom], axis=-1), 0.0, 1.0) * size
        classes = tf.cast(tf.argmax(scores, axis=-1, output_type=tf.int32), tf.uint8)
        return [corners, tf.reduce_max(scores, axis=-1), classes]

    frozen = convert_variables_to_constants_v2(raw.get_concrete_function())

    @partial(compile_graph, input_signature=given)
    def answer(image: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(CORNERS, frozen(image), strict=True))

    module = tf.Module()
    module.answer = answer
    return module
