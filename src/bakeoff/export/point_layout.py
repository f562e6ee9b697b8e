"""The output layout of YOLOv8 and YOLO11, of detectors that have it: one tensor with every point, nothing suppressed.

RGB values 0..1, (1, 3, size, size) of an .onnx and (1, size, size, 3) of a .tflite
-> (1, 4 + k, points): centre x, centre y, width and height of each point's box, then its score for each of k classes

Points are those of strides 8, 16 and 32, each row by row: 6,400 + 1,600 + 400 at 640 x 640. Boxes are in pixels of the
input. In a .tflite they are shares of it, as YOLOv8's own are: in whole numbers of 8 bits one scale is for all numbers
of a tensor, and beside 640 a score of 1 would be nothing.
"""

from collections.abc import Callable
from functools import partial

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from bakeoff.export.lite_graph import of_unit_range
from bakeoff.graphs import compile_graph
from bakeoff.networks.head import Head

IMAGES, OUTPUT = "images", "output0"


def every_point(network: keras.Model, head: Head, *, in_pixels: bool) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return what answers images (n, size, size, 3) of values 0..1 in the layout: (n, 4 + k, points)."""
    inner, unit = of_unit_range(network), float(network.input_shape[1] if in_pixels else 1)

    def answer(images: tf.Tensor) -> tf.Tensor:
        outputs = inner(images * 2.0 - 1.0)
        low, high = tf.split(head.boxes(outputs), 2, axis=-1)  # y x each
        centre, size = (low + high) * (unit / 2), (high - low) * unit
        columns = tf.concat([centre[..., ::-1], size[..., ::-1], head.scores(outputs)], axis=-1)
        return tf.transpose(columns, [0, 2, 1])

    return answer


def point_module(network: keras.Model, head: Head) -> tf.Module:
    """Return a module whose function `answer` is the graph of a .tflite."""
    given = [tf.TensorSpec([1, *network.input_shape[1:]], tf.float32, name=IMAGES)]
    answer = compile_graph(every_point(network, head, in_pixels=False), input_signature=given)
    frozen = convert_variables_to_constants_v2(answer.get_concrete_function())

    @partial(compile_graph, input_signature=given)
    def named(images: tf.Tensor) -> dict[str, tf.Tensor]:
        [points] = frozen(images)
        return {OUTPUT: points}

    module = tf.Module()
    module.answer = named
    return module
