"""What `predict` needs of a model, whatever it is stored as."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Protocol

import keras
import numpy as np
import tensorflow as tf

from bakeoff.export.nms_numpy import Predictions
from bakeoff.export.saved_model import SavedModel, first_of
from bakeoff.export.settings import require_exported
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.inference.predict.light_runtime import Small
from bakeoff.inference.predict.select_model import WEIGHTS_SUFFIX, Trained
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.letterbox_graph import restore_boxes
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.tile_merge import answer_tiles
from bakeoff.learning.networks.tiles import Tiles, tiles_of
from bakeoff.learning.networks.weights import BEST, restore
from bakeoff.learning.tasks.task import make_task


class Model(Protocol):
    """Attributes: the task, and labels in the order of their ids, which count from 1."""

    @property
    def task(self) -> str: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    def answer(self, pixels: np.ndarray) -> Predictions:
        """Answer uint8 (h, w, 3), or a clip (t, h, w, 3), of any size; boxes ymin xmin ymax xmax are shares.

        detection       {"boxes": (n, 4), "classes": (n,), "scores": (n,)}, best first
        classification  {"probabilities": (k,)}, or {"scores": (k,)} if an example may have several labels
        """


class TrainedModel:
    """The network of a run, with weights as train left them."""

    def __init__(self, trained: Trained) -> None:
        model, network = trained.model, restore_network(trained)
        self.task, self.labels = model.task, trained.labels
        task, fit = make_task(model, self.labels, multi_label=trained.multi_label), make_fit(View.of(model), self.task)

        def answer(image: tf.Tensor) -> dict[str, tf.Tensor]:
            shown = fit(image)
            return restore_boxes(task.predict(network(shown["image"], training=False)), shown)

        self._answer = compile_graph(answer, input_signature=[any_size(self.task)])
        self.tiles = tiles_of(model)

    def answer(self, pixels: np.ndarray) -> Predictions:
        return first_of(self._answer(tf.constant(pixels)))


class TiledModel:
    """A model that predicts for one tile at a time, applied to all tiles of a picture."""

    def __init__(self, model: "TrainedModel | SavedModel", tiles: Tiles) -> None:
        self.task, self.labels = model.task, model.labels
        self._model, self._tiles = model, tiles

    def answer(self, pixels: np.ndarray) -> Predictions:
        return answer_tiles(pixels, self._tiles, self._model.answer)


def restore_network(trained: Trained) -> keras.Model:
    if trained.weights.name.endswith(WEIGHTS_SUFFIX):
        return restore(trained.model, len(trained.labels), trained.weights, trained.digest)
    with TemporaryDirectory() as folder:  # in DVC's cache a file has no name, and Keras goes by names
        named = copyfile(trained.weights, Path(folder) / BEST)
        return restore(trained.model, len(trained.labels), named, trained.digest)


def open_saved_model(path: Path) -> SavedModel:
    require_exported(path)
    return SavedModel(path)


def opened(source: Path | Trained) -> Model:
    if not isinstance(source, Trained) and not source.is_dir():
        return Small(source)
    model = TrainedModel(source) if isinstance(source, Trained) else open_saved_model(source)
    return TiledModel(model, model.tiles) if model.tiles else model


def make_fit(view: View, task: str) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """Return a function that makes of an image or a clip of any size a batch of what the network sees."""

    @partial(compile_graph, input_signature=[any_size(task)])
    def fit(image: tf.Tensor) -> dict[str, tf.Tensor]:
        return {name: value[None] for name, value in augment_and_resize.fit({"image": image}, view).items()}

    return fit


def any_size(task: str) -> tf.TensorSpec:
    return tf.TensorSpec([None, None, None, 3] if task == "video" else [None, None, 3], tf.uint8)
