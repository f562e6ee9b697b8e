"""What a run's network makes of pictures: the last maps of its backbone, each as its mean over the picture.

extractor = FeatureExtractor(trained)
extractor.extract([pixels, ...])   # of uint8 (h, w, 3) of any size: as the network sees them, and (n, channels)
extractor.answer(pixels)           # what the network answers, and (channels,), by one pass
"""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from bakeoff.export.nms_numpy import Predictions
from bakeoff.export.saved_model import first_of
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.inference.predict.model_interface import any_size, make_fit, restore_network
from bakeoff.inference.predict.select_model import Trained
from bakeoff.learning.input.letterbox_graph import restore_boxes
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.network import Network, select
from bakeoff.learning.tasks.task import make_task

BATCH = 16
BACKBONE = "backbone"


def feature_network(model: Network, network: keras.Model) -> keras.Model:
    """Return a network that gives, of a batch of pictures, the mean of each map of the backbone's last layer."""
    paths = {variable.path: layer for layer in network.layers for variable in layer.variables}
    own = {id(paths[path]) for path in select(list(paths), (BACKBONE,), model.parts)}
    last = next(layer for layer in reversed(network.layers) if id(layer) in own and len(layer.output.shape) > 2)
    maps = last.output
    return keras.Model(network.inputs[0], keras.ops.mean(maps, axis=tuple(range(1, len(maps.shape) - 1))))


class FeatureExtractor:
    """A trained network that computes features of pictures, each resized as evaluation does it and seen as a whole."""

    def __init__(self, trained: Trained) -> None:
        model, whole = trained.model, restore_network(trained)
        network = feature_network(model, whole)
        both = keras.Model(whole.inputs[0], {"answer": whole.output, "features": network.outputs[0]})
        task = make_task(model, trained.labels, multi_label=trained.multi_label)
        self._fit = make_fit(View.of(model), model.task)
        self._network = compile_graph(
            lambda images: network(images, training=False),
            input_signature=[tf.TensorSpec([None, *network.inputs[0].shape[1:]], tf.float32)],
        )

        def look(image: tf.Tensor) -> tuple[Predictions, tf.Tensor]:
            shown = self._fit(image)
            seen = both(shown["image"], training=False)
            return restore_boxes(task.predict(seen["answer"]), shown), seen["features"][0]

        self._look = compile_graph(look, input_signature=[any_size(model.task)])

    def answer(self, pixels: np.ndarray) -> tuple[Predictions, np.ndarray]:
        """Return what the network answers about a picture as a whole, and its features."""
        answer, features = self._look(tf.constant(pixels))
        return first_of(answer), features.numpy().astype(np.float32)

    def extract(self, pictures: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return what the network sees, (n, size, size, 3), and its features, (n, channels)."""
        shown = np.concatenate([self._fit(tf.constant(picture))["image"].numpy() for picture in pictures])
        parts = [self._network(shown[at : at + BATCH]).numpy() for at in range(0, len(shown), BATCH)]
        return shown, np.concatenate(parts).astype(np.float32)
