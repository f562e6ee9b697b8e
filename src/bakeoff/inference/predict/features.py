"""What a run's network makes of pictures: the last maps of its backbone, each as its mean over the picture.

extractor = FeatureExtractor(trained)
extractor.extract([pixels, ...])   # of uint8 (h, w, 3) of any size: as the network sees them, and (n, channels)
"""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from bakeoff.inference.predict.model_interface import make_fit, restore_network
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.network import Network, select

BATCH = 16
BACKBONE = "backbone"


def feature_network(model: Network, network: keras.Model) -> keras.Model:
    """Return a network that gives, of a batch of pictures, the mean of each map of the backbone's last layer."""
    paths = {variable.path: layer for layer in network.layers for variable in layer.variables}
    own = {id(paths[path]) for path in select(list(paths), (BACKBONE,), model.parts)}
    last = next(layer for layer in reversed(network.layers) if id(layer) in own and len(layer.output.shape) > 2)
    maps = last.output
    return keras.Model(network.inputs[0], keras.ops.mean(maps, axis=tuple(range(1, len(maps.shape) - 1))))


def pooled_features(network: keras.Model, images: np.ndarray) -> np.ndarray:
    """Return float32 (n, channels) of images (n, size, size, 3) as `pixels.fit` leaves them; of `feature_network`."""
    parts = [network(images[at : at + BATCH], training=False).numpy() for at in range(0, len(images), BATCH)]
    return np.concatenate(parts).astype(np.float32)


class FeatureExtractor:
    """A trained network that computes features of pictures, each resized as evaluation does it and seen as a whole."""

    def __init__(self, trained: Trained) -> None:
        self._network = feature_network(trained.model, restore_network(trained))
        self._fit = make_fit(View.of(trained.model), trained.model.task)

    def extract(self, pictures: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return what the network sees, (n, size, size, 3), and its features, (n, channels)."""
        shown = np.stack([self._fit(tf.constant(picture)).numpy() for picture in pictures])
        return shown, pooled_features(self._network, shown)
