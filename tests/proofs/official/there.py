"""What the published code was shown and answered, as this project has it."""

from typing import Any

import numpy as np
import tensorflow as tf


def targets_of(labels: np.ndarray, side: int = 1) -> dict[str, tf.Tensor]:
    """Boxes (images, boxes, class x y width height) of an image of `side`; those of zeros are padding, as here."""
    is_real = labels.sum(axis=2) > 0
    x, y, width, height = np.moveaxis(labels[..., 1:] / side, 2, 0)
    corners = np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], axis=2)
    classes = np.where(is_real, labels[..., 0] + 1, 0)
    return {"boxes": tf.constant(corners, tf.float32), "classes": tf.constant(classes, tf.int64)}


def apart(ours: Any, theirs: Any) -> float:
    """Return the largest difference as a share of the largest number."""
    return float(np.abs(np.asarray(ours) - theirs).max() / np.abs(theirs).max())
