"""What model.rknn is worth: its simulator's answers to validation images, judged as the network's own are.

The simulator takes seconds for an image of a large network, so it sees fewer images than the other files do. `drop` is
what it loses against the network on the same images.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.export.enlarging import enlarge_by_one_operation
from bakeoff.export.files import Representative
from bakeoff.export.grid_layout import every_grid, grid_names, read_grids
from bakeoff.export.lite_graph import output_names
from bakeoff.export.lite_metadata import DEVIATION, MEAN, Told
from bakeoff.export.onnx_file import bare_onnx, onnx_bytes, rule_of
from bakeoff.export.onnx_model import SCORES
from bakeoff.export.report import NETWORK, count_drop, numbers_of, sample_of, stack
from bakeoff.export.rknn_file import Made, make_rknn
from bakeoff.export.suppression import Found, Rule
from bakeoff.graphs import compile_graph
from bakeoff.input.batches import evaluation_batches
from bakeoff.input.shape import Shape
from bakeoff.input.store import Store
from bakeoff.run.options import OWN_LAYOUT, RKNN, RKNN_FILE, Export
from bakeoff.tasks.detection import Detection
from bakeoff.tasks.task import Answer, Task, compile_answer, judge

MOST_IMAGES = 50


def write_rknn(
    network: keras.Model, task: Task, classes: tuple[str, ...], settings: Export, folder: Path, *,
    representative: Representative, store: Store, shape: Shape,
) -> dict[str, Any]:  # fmt: skip
    """Write the file, calibrated on what is representative; return its entry of export.json, by the store."""
    sample = sample_of(store, min(settings.sample or MOST_IMAGES, MOST_IMAGES))
    batches = evaluation_batches(store, shape, sample)
    images = [_as_bytes(image) for batch in batches for image in batch["image"].numpy()]
    calibration = [_as_bytes(image[0] * DEVIATION + MEAN) for [image] in representative()]
    with enlarge_by_one_operation(network):
        onnx, outputs = _make_onnx(network, task, classes, settings, shape)
    made = make_rknn(onnx, outputs, classes, calibration, np.stack(images))
    (folder / RKNN_FILE).write_bytes(made.file)
    answers: dict[str, Answer] = {NETWORK: compile_answer(network, task), RKNN: _answer_of(made, task, sample)}
    scores = judge(task, answers, evaluation_batches(store, shape, sample), lambda batch, _: None)
    own, whole = (numbers_of(task, scores[name]) for name in (RKNN, NETWORK))
    reference = whole.get(task.headline)
    few = {"examples": len(sample), "network": {task.headline: reference}}
    drop = count_drop(reference, own.get(task.headline))
    return {"file": RKNN_FILE, "bytes": len(made.file), **own, **few, "drop": drop}


def _make_onnx(
    network: keras.Model, task: Task, classes: tuple[str, ...], settings: Export, shape: Shape
) -> tuple[bytes, Sequence[str]]:
    """Return the file that the toolkit begins with, for values -1..1, and the names of its outputs."""
    if not (isinstance(task, Detection) and settings.layout != OWN_LAYOUT):
        outputs = ("boxes", "scores") if isinstance(task, Detection) else output_names(task)
        return onnx_bytes(network, task, shape.view, Told(RKNN), classes), outputs
    model: Any = task.model
    grids, given = every_grid(network, model), tf.TensorSpec([1, *network.input_shape[1:]], tf.float32, name="image")
    return bare_onnx(compile_graph(grids, input_signature=[given]), grid_names(model)), grid_names(model)


def _as_bytes(pixels: np.ndarray) -> np.ndarray:
    return np.rint(pixels).clip(0, 255).astype(np.uint8)


def _answer_of(made: Made, task: Task, sample: np.ndarray) -> Answer:
    places = {int(number): place for place, number in enumerate(sample)}

    def found_in(place: int) -> Found:
        values = {name: value[place] for name, value in made.answers.items()}
        if isinstance(task, Detection):
            rule = Rule(**rule_of(task.model))  # type: ignore[arg-type]
            given = values.values() if "boxes" in values else read_grids([*values.values()], task.model.input_size)
            return rule.detections(*given)
        [(name, scores)] = values.items()
        return {SCORES[name]: scores}

    def answers(numbers: Sequence[int]) -> list[Found]:
        return [found_in(places[int(number)]) for number in numbers]

    return lambda batch: stack(answers(batch["number"].numpy()))
