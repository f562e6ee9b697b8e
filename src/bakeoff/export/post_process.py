"""TFLite_Detection_PostProcess: boxes from offsets and the best of them, in one operation of TensorFlow Lite.

boxes (1, anchors, 4) offsets y x height width, scores (1, anchors, k), anchors (anchors, 4) centre y x, height width
-> boxes (1, m, 4) ymin xmin ymax xmax, classes (1, m) from 0, scores (1, m), count (1,), all float32
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bakeoff.networks.detector import Detector
from bakeoff.run.options import Export

NAME = "TFLite_Detection_PostProcess"
OUTPUTS = ("boxes", "classes", "scores", "count")
PostProcess = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, ...]]


def post_process(model: Detector, num_classes: int, settings: Export) -> PostProcess:
    anchors = centred(model.anchor_boxes())
    most = settings.max_detections

    @tf.function(experimental_implements=_signature(model, num_classes, settings))
    def replaced(boxes: tf.Tensor, scores: tf.Tensor, anchors: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """The converter puts the operation in its place and looks at nothing in it but the shapes."""
        return tf.zeros([1, most, 4]), tf.zeros([1, most]), tf.zeros([1, most]), tf.zeros([1])

    return lambda boxes, scores: replaced(boxes, scores, tf.constant(anchors))


def centred(boxes: np.ndarray) -> np.ndarray:
    low, high = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([(low + high) / 2, high - low], axis=1).astype(np.float32)


def _signature(model: Detector, num_classes: int, settings: Export) -> str:
    rule, most = model.suppression, settings.max_detections
    y, x, height, width = model.box_scales
    values = {
        "max_detections": f"i: {most}",
        "max_classes_per_detection": "i: 1",
        "detections_per_class": f"i: {rule.max_detections_per_class or rule.max_detections}",
        "use_regular_nms": f"b: {str(settings.per_class_suppression).lower()}",
        "nms_score_threshold": f"f: {rule.min_score!r}",
        "nms_iou_threshold": f"f: {rule.max_overlap!r}",
        "num_classes": f"i: {num_classes}",
        "y_scale": f"f: {float(y)!r}",
        "x_scale": f"f: {float(x)!r}",
        "h_scale": f"f: {float(height)!r}",
        "w_scale": f"f: {float(width)!r}",
    }
    attributes = (f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in values.items())
    return " ".join([f'name: "{NAME}"', *attributes])
