"""Boxes and scores of every anchor -> the detections that stay, for training's validation and for evaluation.

Exported files have their own: tflite_build.py puts it into the graph, nms_numpy.py does it beside a runtime.
"""

import tensorflow as tf

from bakeoff.learning.networks.detector_settings import Suppression


def suppress(boxes: tf.Tensor, scores: tf.Tensor, rule: Suppression) -> dict[str, tf.Tensor]:
    """Return a batch's detections, best first, padded: boxes inside the image, scores, class ids 1..k, count."""
    kept = tf.image.combined_non_max_suppression(
        boxes[:, :, None],
        scores,
        max_output_size_per_class=rule.max_detections_per_class or rule.max_detections,
        max_total_size=rule.max_detections,
        iou_threshold=rule.max_overlap,
        score_threshold=rule.min_score,
        clip_boxes=True,
    )
    return {
        "boxes": kept.nmsed_boxes,
        "scores": kept.nmsed_scores,
        "classes": tf.cast(kept.nmsed_classes, tf.int64) + 1,
        "count": kept.valid_detections,
    }
