"""The layout of YOLOv8 on Rockchip's chips, as PhotonVision reads it: what the network answers, before any decoding.

For each grid of points, fine to coarse, two tensors:
(1, 4 * bins, h, w)  logits of the distances left, up, right and down, in strides of the grid
(1, k, h, w)         a score of each class, 0..1
PhotonVision's code for it: https://github.com/PhotonVision/rknn_jni, postprocess_v8_11.cc.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.networks.point_detector import PointDetector

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

SIDES = (1, 0, 3, 2)  # where left, up, right and down stand among the network's up, left, down and right


def grid_names(model: PointDetector) -> list[str]:
    return [f"{name}_{stride}" for stride in model.strides for name in ("sides", "scores")]


def every_grid(network: "keras.Model", model: PointDetector) -> Callable[["tf.Tensor"], list["tf.Tensor"]]:
    """Return what answers images (n, size, size, 3) of values -1..1 in the layout."""
    import tensorflow as tf

    from bakeoff.export.lite_graph import of_unit_range

    inner, sides = of_unit_range(network), [model.input_size // stride for stride in model.strides]

    def answer(images: tf.Tensor) -> list[tf.Tensor]:
        outputs = inner(images)
        counts = [side * side for side in sides]
        boxes, scores = (tf.split(outputs[name], counts, axis=1) for name in ("boxes", "classes"))
        tensors = []
        for side, of_boxes, of_classes in zip(sides, boxes, scores, strict=True):
            parts = tf.split(tf.reshape(of_boxes, [-1, side, side, 4 * model.bins]), 4, axis=3)
            ordered = tf.concat([parts[place] for place in SIDES], axis=3)
            scored = tf.sigmoid(tf.reshape(of_classes, [-1, side, side, of_classes.shape[-1]]))
            tensors += [tf.transpose(tensor, [0, 3, 1, 2]) for tensor in (ordered, scored)]
        return tensors

    return answer


def read_grids(values: Sequence[np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes (a, 4) ymin xmin ymax xmax, shares, and scores (a, k), of one image's tensors in the layout."""
    boxes, scores = [], []
    for sides, scored in zip(values[::2], values[1::2], strict=True):
        _, height, width = sides.shape
        logits = sides.reshape(4, -1, height, width)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        away = (weights * np.arange(logits.shape[1])[:, None, None]).sum(axis=1) / weights.sum(axis=1)
        rows, columns = np.mgrid[:height, :width] + 0.5
        left, up, right, down = away
        corners = np.stack([rows - up, columns - left, rows + down, columns + right], axis=-1)
        boxes.append(corners.reshape(-1, 4) * (size // height) / size)
        scores.append(scored.reshape(len(scored), -1).T)
    return np.concatenate(boxes).astype(np.float32), np.concatenate(scores)
