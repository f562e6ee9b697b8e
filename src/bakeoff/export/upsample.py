"""Maps that are enlarged by one operation, which accelerators know.

Keras enlarges a map by repeating its rows and columns. In a .tflite that is three RESHAPE of five dimensions and two
TILE, and the Edge TPU has neither. One RESIZE_NEAREST_NEIGHBOR gives the same numbers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import keras
import tensorflow as tf


@contextmanager
def enlarge_by_one_operation(network: keras.Model) -> Iterator[None]:
    """What is traced of the network in here enlarges so; the network itself stays as it is."""
    changed = [layer for layer in network.layers if _enlarges(layer)]
    for layer in changed:
        layer.call = partial(_enlarge, layer.size)
    try:
        yield
    finally:
        for layer in changed:
            del layer.call


def _enlarges(layer: keras.Layer) -> bool:
    is_nearest = isinstance(layer, keras.layers.UpSampling2D) and layer.interpolation == "nearest"
    return is_nearest and layer.data_format == "channels_last" and None not in layer.output.shape[1:]


def _enlarge(times: tuple[int, int], images: tf.Tensor) -> tf.Tensor:
    size = [times[0] * images.shape[1], times[1] * images.shape[2]]
    return tf.raw_ops.ResizeNearestNeighbor(images=images, size=size)
