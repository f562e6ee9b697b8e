"""A model.onnx that answers: one image or clip at a time, by onnxruntime. Nothing here needs TensorFlow."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.export.foreign_models import (
    CANNOT,
    TASKS,
    check_answer,
    errors_naming,
    require_labels,
    require_shape,
)
from bakeoff.export.head_maps import HEADS, Heads
from bakeoff.export.nms_numpy import Predictions, Rule, read_candidates
from bakeoff.export.tflite_metadata import DEVIATION, MEAN, UNIT
from bakeoff.foundation.errors import DataError, WorkspaceError, one_line, show

SUFFIX = ".onnx"
NO_TELEMETRY = ("ORT_DISABLE_TELEMETRY", "1")  # stops reports about this machine to the maker; the user's value counts
SCORES = {"probabilities": "probabilities", "label_scores": "scores"}  # an output's name -> what answers call it
OURS = "is of other software, or of an earlier export"


class OnnxModel:
    """For images already at the network's size, as `fit` of input/augment_and_resize.py makes them."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        self.path, self._session = path, _open(path, threads)
        metadata = self._session.get_modelmeta().custom_metadata_map
        self._names = [output.name for output in self._session.get_outputs()]
        try:
            self.task, self.labels = metadata["task"], tuple(json.loads(metadata["labels"]))
            self.view_settings: dict[str, Any] = json.loads(metadata["view"])
            self._rule = Rule.of(json.loads(metadata["suppression"])) if self.task == "detection" else None
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            raise DataError(
                f"{path}: {OURS}: its metadata must hold task, labels and view ({one_line(ValueError(repr(error)))})"
            ) from None
        if self.task not in TASKS:
            raise DataError(f"{path}: {OURS}: its task must be one of {', '.join(TASKS)}, got {show(self.task)}")
        require_labels(path, self.labels)
        self._layout = metadata.get("layout")  # set by the exporters of other detectors
        self._heads = _read_heads(path, metadata.get(HEADS, "{}")) if self._layout == HEADS else None
        known = [["boxes", "scores"]] if self._rule else [[name] for name in SCORES]
        if self._names not in known and not self._layout:
            raise DataError(f"{path}: {OURS}: it gives {', '.join(self._names)}")
        given = self._session.get_inputs()[0]
        sides = tuple(given.shape[1:])  # channels first, of clips last
        self._is_clip = len(sides) == 4
        of_unit = self._layout and not self._heads
        self._mean, self._deviation = map(np.float32, UNIT if of_unit else (MEAN, DEVIATION))
        self.shape: tuple[int, ...] = (
            sides if self._is_clip else (*sides[1:], *sides[:1])
        )  # ([frames], height, width, 3)
        require_shape(path, self.shape)
        self._given: dict[str, np.ndarray] = {}
        self._input = given.name

    @property
    def layout(self) -> str | None:
        """Return how a detector's outputs are arranged, if not as those of other networks here."""
        return self._layout

    def answer(self, pixels: np.ndarray) -> Predictions:
        """Answer `pixels` 0..255, of `shape`, as SavedModels do, for one example: see saved_model.py."""
        with errors_naming(self.path, CANNOT):
            self.put(pixels)
            return check_answer(self.path, self._read([value[0] for value in self.call()]), self.labels)

    def _read(self, given: list[np.ndarray]) -> Predictions:
        if self._rule and self._heads:
            return self._rule.detections(*self._heads.candidates(dict(zip(self._names, given, strict=True))))
        if self._rule and self._layout:
            return self._rule.detections(*read_candidates(self._layout, given, self.shape[0], len(self.labels)))
        values = dict(zip(self._names, given, strict=True))
        if self._rule:
            return self._rule.detections(values["boxes"], values["scores"])
        [(name, scores)] = values.items()
        return {SCORES[name]: scores}

    def put(self, pixels: np.ndarray) -> None:
        given = ((pixels - self._mean) / self._deviation).astype(np.float32)
        self._given = {self._input: (given if self._is_clip else given.transpose(2, 0, 1))[None]}

    @property
    def call(self) -> Callable[[], list[np.ndarray]]:
        """What is timed."""
        return lambda: self._session.run(None, self._given)


def _read_heads(path: Path, text: str) -> Heads:
    try:
        return Heads.of(json.loads(text))
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: {OURS}: its metadata {HEADS}: {one_line(ValueError(repr(error)))}") from None


def _open(path: Path, threads: int) -> Any:
    os.environ.setdefault(*NO_TELEMETRY)
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise WorkspaceError(f"{path}: needs ONNX Runtime; run `pip install onnxruntime`") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4  # failures are raised as exceptions
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever it raises
        raise DataError(f"{path}: onnxruntime cannot run it ({one_line(error)})") from None
