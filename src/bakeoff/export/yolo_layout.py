"""Output layouts of YOLOv8 and YOLO11, of detectors that have points at strides 8, 16 and 32; nothing is suppressed.

They take RGB values 0..1, (1, 3, size, size) of an .onnx and (1, size, size, 3) of a .tflite. Points are in the order
of the strides, each row by row: 6,400 + 1,600 + 400 at 640 x 640.

yolov8          output0 (1, 4 + k, points): centre x, centre y, width, height of a box, then a score for each class
yolov8_corners  boxes (1, points, 4) xmin ymin xmax ymax in pixels of the input, scores (1, points) of the best class,
                class_idx (1, points) from 0, uint8: as Qualcomm's AI Hub arranges them
yolov8_levels   for each stride boxes (1, 4 * bins, h, w) logits of distances left, up, right, down, scores (1, k, h, w)
                and their sum (1, 1, h, w): as Rockchip's model zoo arranges them

`yolov8` has boxes in pixels of the input, in a .tflite in shares of it, as YOLOv8's own: in whole numbers of 8 bits one
scale is for all numbers of a tensor, and beside 640 a score of 1 would be nothing.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from bakeoff.export.devices import Layout
from bakeoff.export.tflite_build import of_unit_range, zero_of
from bakeoff.export.tflite_metadata import DEVIATION, MEAN
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.heads.head import BELOW_1, GridHead, Head, Hold, as_it_is
from bakeoff.learning.networks.quantized.ranges import FakeQuantize

Answer = Callable[[tf.Tensor], dict[str, tf.Tensor]]
IMAGES, OUTPUT = "images", "output0"


def answer_in(layout: Layout, network: keras.Model, head: Head, *, in_pixels: bool) -> Answer:
    """Return what answers images (n, size, size, 3) of values 0..1 by the names of the file's outputs, in their order.

    `in_pixels`: the boxes of `yolov8` are not shares of the image.
    """
    if layout == "yolov8_levels":
        return _levels(network)
    inner, side = _of_unit(network), float(network.input_shape[1])
    hold = _hold_in(network)

    def boxes_of(outputs: dict[str, tf.Tensor]) -> tf.Tensor:
        return head.boxes(outputs, hold) if isinstance(head, GridHead) else head.boxes(outputs)

    def scores_of(outputs: dict[str, tf.Tensor]) -> tf.Tensor:
        return head.scores(outputs, hold) if isinstance(head, GridHead) else head.scores(outputs)

    def one_tensor(images: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs, unit = inner(images), side if in_pixels else 1.0
        low, high = tf.split(boxes_of(outputs), 2, axis=-1)  # y x each
        centre, size = hold(hold(low + high, 0.0, 2.0) * (unit / 2), 0.0, unit), hold(high - low, 0.0, 1.0) * unit
        parts = centre[..., ::-1], hold(size, 0.0, unit)[..., ::-1], scores_of(outputs)
        return {OUTPUT: tf.transpose(hold(tf.concat(parts, axis=-1), 0.0, unit), [0, 2, 1])}

    def corners(images: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = inner(images)
        boxes, scores = tf.gather(boxes_of(outputs), [1, 0, 3, 2], axis=-1) * side, scores_of(outputs)
        boxes = hold(boxes, 0.0, side)
        best = tf.argmax(scores, axis=-1, output_type=tf.int32)
        likeliest = hold(tf.reduce_max(scores, axis=-1), 0.0, BELOW_1)
        return {"boxes": boxes, "scores": likeliest, "class_idx": tf.cast(best, tf.uint8)}

    return corners if layout == "yolov8_corners" else one_tensor


def _levels(network: keras.Model) -> Answer:
    maps = [maps_of(network.output[name]) for name in ("boxes", "classes")]
    hold = _hold_in(network)
    strides = [network.input_shape[1] // boxes.shape[1] for boxes in maps[0]]
    inner = _of_unit(keras.Model(network.input, [*itertools.chain(*maps)]))

    def answer(images: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs_of_layout: dict[str, tf.Tensor] = {}
        answers = inner(images)
        for stride, boxes, logits in zip(strides, answers[: len(strides)], answers[len(strides) :], strict=True):
            scores = hold(tf.sigmoid(logits), 0.0, BELOW_1)
            several = tf.clip_by_value(tf.reduce_sum(scores, axis=-1, keepdims=True), 0.0, 1.0)
            several = hold(several, 0.0, BELOW_1)
            named = {"boxes": boxes, "scores": scores, "sum": several}
            outputs_of_layout |= {
                f"{name}_{stride}": tf.transpose(value, [0, 3, 1, 2]) for name, value in named.items()
            }
        return outputs_of_layout

    return answer


def _of_unit(network: keras.Model) -> Callable[[tf.Tensor], Any]:
    """Return the network for values 0..1."""
    zero, hold = zero_of(network), _hold_in(network)
    inner = of_unit_range(network, zero)
    return lambda images: inner(hold(hold(images, 0.0, 1.0) * 2.0, 0.0, 2.0) - zero / DEVIATION)


def _hold_in(network: keras.Model) -> Hold:
    """Return what rounds to 256 values between bounds, for a graph in eight bits: it has no other ranges here."""
    return tf.quantization.fake_quant_with_min_max_args if zero_of(network) != MEAN else as_it_is


def maps_of(rows: keras.KerasTensor) -> list[keras.KerasTensor]:
    """Return the maps of the levels that `blocks.rows` made rows of: it reshapes each, and joins them.

    In a graph in eight bits each step is rounded again.
    """
    return [reshaped for joined in inputs_of(rows) for reshaped in inputs_of(joined)]


def inputs_of(tensor: keras.KerasTensor) -> list[keras.KerasTensor]:
    """Return what the layer was given that made it, before that was rounded."""
    operation, node, _ = tensor._keras_history
    inputs: list[keras.KerasTensor] = operation._inbound_nodes[node].input_tensors
    return inputs_of(inputs[0]) if isinstance(operation, FakeQuantize) else inputs


def point_module(layout: Layout, network: keras.Model, head: Head) -> tuple[tf.Module, tuple[str, ...]]:
    """Return a module whose function `answer` is the graph of a .tflite, and the names of the file's outputs."""
    given = [tf.TensorSpec([1, *network.input_shape[1:]], tf.float32, name=IMAGES)]
    names: list[str] = []

    @partial(compile_graph, input_signature=given)
    def raw(images: tf.Tensor) -> list[tf.Tensor]:
        outputs_of_layout = answer_in(layout, network, head, in_pixels=False)(images)
        names[:] = outputs_of_layout
        return list(outputs_of_layout.values())

    frozen = convert_variables_to_constants_v2(raw.get_concrete_function())

    @partial(compile_graph, input_signature=given)
    def named(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(names, frozen(images), strict=True))

    module = tf.Module()
    module.answer = named
    return module, tuple(names)
