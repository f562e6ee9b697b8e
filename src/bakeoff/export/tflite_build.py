"""The graph of a .tflite: one image or clip with values -1..1 in, answers out, weights as constants.

(1, size, size, 3) or (1, frames, size, size, 3) float32, which is (pixel - 127.5) / 127.5, or of a network that learnt
in eight bits (pixel - 128) / 127.5
-> detection       boxes (1, m, 4) ymin xmin ymax xmax, classes (1, m) from 0, scores (1, m), count (1,), all float32
-> classification  probabilities (1, k), or label_scores (1, k) if an example may have several labels
"""

from collections.abc import Callable
from functools import partial

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from bakeoff.export.settings import SAFE_THREADS, Export
from bakeoff.export.tflite_metadata import DEVIATION, MEAN
from bakeoff.export.tflite_worker import POST_PROCESS
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.networks.detector_settings import Detector
from bakeoff.learning.networks.layers import FIRST_LAYER
from bakeoff.learning.tasks.classification import Classification, SeveralLabels
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import Task

DETECTIONS = ("boxes", "classes", "scores", "count")
LEAST_SCORE = 1e-9  # the operation gives what scores as much as the threshold, and an empty column scores 0


def lite_module(network: keras.Model, task: Task, num_classes: int, settings: Export) -> tf.Module:
    """Return a module whose function `answer` gives a dict in the order of the file's outputs."""
    shape = [1, *network.input_shape[1:]]
    inner = of_unit_range(network, zero_of(network))

    @partial(compile_graph, input_signature=[tf.TensorSpec(shape, tf.float32, name="image")])
    def raw(image: tf.Tensor) -> list[tf.Tensor]:
        outputs = inner(image)
        if isinstance(task, Detection):
            return [task.head.codes(outputs), task.head.scores(outputs)]
        predictions = task.predict(outputs)
        return [predictions.get("probabilities", predictions["scores"])]

    # As constants, for the operation below is recognised only in a SavedModel, and there variables stay variables.
    frozen = convert_variables_to_constants_v2(raw.get_concrete_function())
    detections = post_process(task.model, num_classes, settings) if isinstance(task, Detection) else None

    @partial(compile_graph, input_signature=[tf.TensorSpec(shape, tf.float32, name="image")])
    def answer(image: tf.Tensor) -> dict[str, tf.Tensor]:
        predictions = frozen(image)
        return dict(zip(output_names(task), detections(*predictions) if detections else predictions, strict=True))

    module = tf.Module()
    module.answer = answer
    return module


def output_names(task: Task) -> tuple[str, ...]:
    if isinstance(task, Detection):
        return DETECTIONS
    several = isinstance(task, Classification) and isinstance(task.labels, SeveralLabels)
    return ("label_scores",) if several else ("probabilities",)


def of_unit_range(network: keras.Model, zero: float = MEAN) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """Return the network for values -1..1: without the layer that makes them of pixels, as most begin, or behind it.

    `zero` is the pixel that is 0.
    """
    first = _first_layer(network)
    if first is None:
        return lambda image: network(image * DEVIATION + zero, training=False)
    inner, shift = keras.Model(first.output, network.output), (zero - zero_of(network)) / DEVIATION
    return lambda image: inner(image + shift if shift else image, training=False)


def zero_of(network: keras.Model) -> float:
    """Return the pixel of which the network makes 0: in eight bits it has to be a whole number."""
    first = _first_layer(network)
    return MEAN if first is None or first.offset == -1 else -first.offset * DEVIATION


def _first_layer(network: keras.Model) -> keras.layers.Rescaling | None:
    return next((layer for layer in network.layers if layer.name == FIRST_LAYER), None)


def post_process(
    model: Detector, num_classes: int, settings: Export
) -> Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, ...]]:
    """Return boxes from offsets and the best of them, in one operation of TensorFlow Lite.

    It takes boxes (1, anchors, 4), offsets y x height width, and scores (1, anchors, k).

    Where each class is suppressed by itself, the operation with n > 1 threads never looks at column n of the scores
    (https://github.com/tensorflow/tensorflow/issues/56058). So empty columns stand in front of those of the classes.
    """
    anchors = centre_boxes(model.head().anchors)
    most = settings.max_detections
    empty = SAFE_THREADS + 1 if settings.per_class_suppression and num_classes > 2 else 0

    @partial(compile_graph, experimental_implements=_signature(model, empty + num_classes, settings))
    def replaced(boxes: tf.Tensor, scores: tf.Tensor, anchors: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """The converter puts the operation in its place and looks at nothing in it but the shapes."""
        return tf.zeros([1, most, 4]), tf.zeros([1, most]), tf.zeros([1, most]), tf.zeros([1])

    def processed(boxes: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, ...]:
        if not empty:
            return replaced(boxes, scores, tf.constant(anchors))
        padded = tf.pad(scores, [[0, 0], [0, 0], [empty, 0]])
        corners, columns, best, count = replaced(boxes, padded, tf.constant(anchors))
        classes = tf.constant([0] * empty + list(range(num_classes)))  # whole numbers, which int8 does not round
        return corners, tf.cast(tf.gather(classes, tf.cast(columns, tf.int32)), tf.float32), best, count

    return processed


def centre_boxes(boxes: np.ndarray) -> np.ndarray:
    """Turn ymin xmin ymax xmax into centre y x, height width."""
    low, high = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([(low + high) / 2, high - low], axis=1).astype(np.float32)


def _signature(model: Detector, num_classes: int, settings: Export) -> str:
    rule, most = model.suppression, settings.max_detections
    values = {
        "max_detections": f"i: {most}",
        "max_classes_per_detection": "i: 1",
        # Fewer than max_detections would make threads write behind the end of a buffer.
        "detections_per_class": f"i: {max(rule.max_detections_per_class or rule.max_detections, most)}",
        "use_regular_nms": f"b: {str(settings.per_class_suppression).lower()}",
        "nms_score_threshold": f"f: {max(rule.min_score, LEAST_SCORE)!r}",
        "nms_iou_threshold": f"f: {rule.max_overlap!r}",
        "num_classes": f"i: {num_classes}",
    }
    scales = zip(("y_scale", "x_scale", "h_scale", "w_scale"), model.head().box_scales, strict=True)
    values |= {name: f"f: {float(scale)!r}" for name, scale in scales}
    attributes = (f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in values.items())
    return " ".join([f'name: "{POST_PROCESS}"', *attributes])
