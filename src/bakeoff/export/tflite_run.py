"""A .tflite that answers: one image or clip at a time."""

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.export.foreign_models import CANNOT, check_answer, errors_naming, require_labels, require_shape
from bakeoff.export.nms_numpy import Predictions, Rule, read_candidates
from bakeoff.export.tflite_metadata import read_metadata
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.tf_loading import load_tensorflow, stderr_aside

DETECTIONS = ("location", "category", "score", "number of detections")  # as metadata calls them


class LiteModel:
    """For images already at the network's size, as `fit` of input/augment_and_resize.py makes them."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        self.path, self.metadata = path, read_metadata(path)
        self.labels = self.metadata.labels
        require_labels(path, self.labels)
        with errors_naming(path, "its rule for boxes cannot be read"):
            rule = dict(self.metadata.rule)
            self._layout: str = rule.pop("layout", "")
            self._rule = Rule.of(rule) if self._layout else None
        self._interpreter = _interpreter(path, threads)
        self._input = self._interpreter.get_input_details()[0]
        self._outputs = self._interpreter.get_output_details()
        self.shape = tuple(int(side) for side in self._input["shape"][1:])  # ([frames], height, width, 3)
        require_shape(path, self.shape)
        if len(self._outputs) not in (1, len(DETECTIONS)) and not self._rule:
            number = len(self._outputs)
            raise DataError(f"{path}: gives {number} outputs; one of scores or four of detections are known")

    @property
    def view_settings(self) -> dict[str, Any]:
        """Return what export noted of the view; nothing in files of other software."""
        return self.metadata.view

    @property
    def task(self) -> str:
        if self._rule or len(self._outputs) == len(DETECTIONS):
            return "detection"
        return "video" if len(self.shape) == 4 else "classification"

    def answer(self, pixels: np.ndarray) -> Predictions:
        """Answer `pixels` 0..255, of `shape`, as SavedModels do, for one example: see saved_model.py."""
        with errors_naming(self.path, CANNOT):
            self.put(pixels)
            self.call()
            return check_answer(self.path, self._read(), self.labels)

    def _read(self) -> Predictions:
        values = [self._values(output) for output in self._outputs]
        if self._rule:
            side = 1 if self._layout == "yolov8" else self.shape[0]
            return self._rule.detections(*read_candidates(self._layout, values, side, len(self.labels)))
        if self.task != "detection":
            [scores] = values
            return {"probabilities" if self.metadata.outputs == ("probability",) else "scores": scores}
        named = dict(zip(self.metadata.outputs, values, strict=False))
        boxes, classes, scores, count = (named.get(name, values[place]) for place, name in enumerate(DETECTIONS))
        real = int(np.ravel(count)[0])
        rows = {"classes": classes[:real].astype(np.int64) + 1, "scores": scores[:real]}
        return {"boxes": np.clip(boxes[:real], 0.0, 1.0), **rows}

    def put(self, pixels: np.ndarray) -> None:
        kind = self._input["dtype"]
        if kind == np.float32:
            mean, deviation = (np.array(values, np.float32) for values in (self.metadata.mean, self.metadata.deviation))
            given = (pixels - mean) / deviation
        else:
            given = np.rint(pixels) - (128 if kind == np.int8 else 0)  # pixels as they are, as controllers feed them
        self._interpreter.set_tensor(self._input["index"], given.astype(kind)[None])

    @property
    def call(self) -> Callable[[], None]:
        """What is timed."""
        return self._interpreter.invoke

    def _values(self, output: dict[str, Any]) -> np.ndarray:
        """Return an output without the batch's axis, as numbers also where they are stored as bytes."""
        values = self._interpreter.get_tensor(output["index"])
        scale, zero = output["quantization"]
        values = (values.astype(np.float32) - zero) * scale if scale else values
        return values[0] if values.ndim > 1 else values


def _interpreter(path: Path, threads: int) -> Any:
    interpreter_class = _find_runtime(path)
    with warnings.catch_warnings(), stderr_aside():
        warnings.simplefilter("ignore")  # of a successor in another package
        try:
            # By its path a file is not verified, and a damaged one ends the process by a signal.
            interpreter = interpreter_class(model_content=path.read_bytes(), num_threads=threads)
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
        else:
            return interpreter
    raise DataError(f"{path}: TensorFlow Lite cannot run it ({reason})")


def _find_runtime(path: Path) -> Any:
    """Return the interpreter of TensorFlow, which exports are judged by; LiteRT's where no TensorFlow is installed."""
    if find_spec("tensorflow"):
        load_tensorflow()
        return import_module("tensorflow.lite.python.interpreter").Interpreter
    if find_spec("ai_edge_litert"):
        return import_module("ai_edge_litert.interpreter").Interpreter
    raise WorkspaceError(f"{path}: needs LiteRT, which is not installed; run `pip install ai-edge-litert`")
