"""Pictures whose changes can be read off their pixels, and changes run as training runs them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.input.augment.scene import make_key
from bakeoff.learning.input.view import View

OBJECT = 255  # of the red channel; the ground is black, what lies beside the picture is grey


def key(number: int) -> tf.Tensor:
    return make_key(7, epoch=tf.constant(0, tf.int64), example=tf.convert_to_tensor(number, tf.int64))


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@cache
def change(augment: Augment, view: View) -> Callable[..., dict[str, np.ndarray]]:
    """`example, number -> changed example`, compiled once, as it is inside tf.data."""
    run = compile_graph(
        lambda example, number: augment_and_resize.distort(example, view, augment=augment, key=key(number))
    )

    def changed(example: dict[str, Any], number: int) -> dict[str, np.ndarray]:
        given = {name: tf.constant(value) for name, value in example.items()}
        return {name: value.numpy() for name, value in run(given, tf.constant(number, tf.int64)).items()}

    return changed


def distorted(example: dict[str, Any], size: int, augment: Augment, number: int, frames: int = 1) -> dict[str, Any]:
    """Run directly, as plain arrays."""
    given = {name: tf.constant(value) for name, value in example.items()}
    changed = augment_and_resize.distort(given, View(size, frames), augment=augment, key=key(number))
    return {name: value.numpy() for name, value in changed.items()}


def scene(box: np.ndarray, height: int, width: int) -> np.ndarray:
    """Black with a white rectangle."""
    image = np.zeros((height, width, 3), np.uint8)
    y0, x0, y1, x1 = np.round(box * [height, width, height, width]).astype(int)
    image[y0:y1, x0:x1] = OBJECT
    return image


def rectangle_in(image: np.ndarray) -> np.ndarray:
    """The white rectangle as shares; what lies beside the picture is grey, 127.5, the picture itself black."""
    white = image[..., 0] > 191
    rows, columns = np.flatnonzero(white.any(axis=1)), np.flatnonzero(white.any(axis=0))
    return np.array([rows[0], columns[0], rows[-1] + 1, columns[-1] + 1]) / len(image)
