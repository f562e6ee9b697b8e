"""A .tflite or .onnx that answers images of any size. Nothing here needs TensorFlow, only what runs the file."""

from pathlib import Path
from typing import get_args

import numpy as np

from bakeoff.export.foreign_models import errors_naming
from bakeoff.export.nms_numpy import Predictions
from bakeoff.export.onnx_run import SUFFIX, OnnxModel
from bakeoff.export.settings import require_exported
from bakeoff.export.tflite_run import LiteModel
from bakeoff.inference.predict.resize_numpy import fit
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import LETTERBOX, find_window, restore_boxes
from bakeoff.learning.networks.network import Resizing, Sampling
from bakeoff.learning.networks.tile_merge import answer_tiles
from bakeoff.learning.networks.tiles import Tiles


class Small:
    """A file with what stands in front of it: the way from an image of any size to the network's."""

    def __init__(self, path: Path) -> None:
        self._model = small_model(path)
        self.task, self.labels = self._model.task, self._model.labels
        self._view = view_of(self._model)

    def answer(self, pixels: np.ndarray) -> Predictions:
        tiles = self._view.tiles
        return answer_tiles(pixels, tiles, self._answer_view) if tiles else self._answer_view(pixels)

    def _answer_view(self, pixels: np.ndarray) -> Predictions:
        predictions = self._model.answer(fit(pixels, self._view))
        if self._view.fit != LETTERBOX or self.task != "detection":
            return predictions
        height, width, _ = pixels.shape
        return restore_boxes(predictions, find_window(height, width, self._view.size))


def small_model(path: Path) -> LiteModel | OnnxModel:
    require_exported(path)
    return OnnxModel(path) if path.suffix == SUFFIX else LiteModel(path)


def view_of(model: LiteModel | OnnxModel) -> View:
    """Return the view that export packed in; a file of other software sees the whole image at once."""
    frames, size = (model.shape[0] if len(model.shape) == 4 else 1), model.shape[-2]
    with errors_naming(model.path, "its view of pictures is not one that export writes"):
        settings = dict(model.view_settings)
        sampling = Sampling(**settings.pop("sampling", {}))
        tiles = Tiles.of(parts) if (parts := settings.pop("tiles", None)) else None
        view = View(**{"size": size, "frames": frames, **settings, "sampling": sampling, "tiles": tiles})
        is_known = view.resizing in get_args(Resizing) and 0 < view.central_crop <= 1
        if (view.size, view.frames) != (size, frames) or not is_known:
            raise ValueError(
                f"{view.size} pixels, {view.frames} frames, a crop of {view.central_crop}, {view.resizing}"
            )
    return view
