"""What model.rknn is worth: its simulator's answers to validation images, judged as the network's own are.

The simulator takes seconds for an image of a large network, so it sees fewer images than the other files do. `drop` is
what it loses against the network on the same images.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from bakeoff.export.accuracy_report import NETWORK, bring_back, count_drop, numbers_of, sample_of
from bakeoff.export.devices import OWN_LAYOUT
from bakeoff.export.nms_numpy import Predictions, Rule, read_candidates
from bakeoff.export.onnx_build import onnx_bytes, rule_of
from bakeoff.export.onnx_run import SCORES
from bakeoff.export.rknn_build import Made, RknnInput, make_rknn
from bakeoff.export.settings import RKNN, RKNN_FILE, Export
from bakeoff.export.tflite_metadata import DEVIATION, MEAN, UNIT, ModelMetadata
from bakeoff.export.tflite_worker import Representative
from bakeoff.learning.input.batches import evaluation_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.view import Shape
from bakeoff.learning.networks.quantized.quantizable import network_in_floats
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import Answer, Score, Task, compile_answer, judge
from bakeoff.learning.tasks.tiled import stack_predictions

MOST_IMAGES = 50


def write_rknn(
    network: keras.Model, task: Task, classes: tuple[str, ...], settings: Export, folder: Path, *,
    representative: Representative, store: RecordReader, shape: Shape,
) -> dict[str, Any]:  # fmt: skip
    """Write the file, calibrated on what is representative; return its entry of export.json, by the store.

    `shape` is the network's own; the file is fed as its device feeds it.
    """
    fed = replace(shape, fit=settings.fit_for(shape.fit))
    sample = sample_of(store, min(settings.sample or MOST_IMAGES, MOST_IMAGES))
    batches = evaluation_batches(store, fed, sample)
    images = [_as_bytes(image) for batch in batches for image in batch["image"].numpy()]
    calibration = [_as_bytes(image[0] * DEVIATION + MEAN) for [image] in representative()]
    data = onnx_bytes(network_in_floats(network), task, fed.view, ModelMetadata(RKNN), classes, settings.layout)
    scale = UNIT if settings.layout != OWN_LAYOUT else (MEAN, DEVIATION)
    made = make_rknn(RknnInput(data, *scale), classes, calibration, np.stack(images))
    (folder / RKNN_FILE).write_bytes(made.file)
    answers: dict[str, tuple[Answer, Shape]] = {
        NETWORK: (compile_answer(network, task), shape),
        RKNN: (_answer_of(made, task, sample, settings), fed),
    }
    scores: dict[str, Score] = {}
    for name, (answer, shown) in answers.items():
        scores |= judge(task, {name: answer}, evaluation_batches(store, shown, sample))
    own, whole = (numbers_of(task, scores[name]) for name in (RKNN, NETWORK))
    reference = whole.get(task.headline)
    few = {"examples": len(sample), "network": {task.headline: reference}}
    drop = count_drop(reference, own.get(task.headline))
    return {"file": RKNN_FILE, "bytes": len(made.file), **own, **few, "drop": drop}


def _as_bytes(pixels: np.ndarray) -> np.ndarray:
    return np.rint(pixels).clip(0, 255).astype(np.uint8)


def _answer_of(made: Made, task: Task, sample: np.ndarray, settings: Export) -> Answer:
    places = {int(number): place for place, number in enumerate(sample)}

    def predictions_in(place: int) -> Predictions:
        values = {name: value[place] for name, value in made.answers.items()}
        if isinstance(task, Detection):
            rule, model = Rule(**rule_of(task.model)), task.model  # type: ignore[arg-type]
            if settings.layout == OWN_LAYOUT:
                return rule.detections(values["boxes"], values["scores"])
            given = [*values.values()]
            return rule.detections(*read_candidates(settings.layout, given, model.input_size, len(task.classes)))
        [(name, scores)] = values.items()
        return {SCORES[name]: scores}

    def answers(numbers: Sequence[int]) -> list[Predictions]:
        return [predictions_in(places[int(number)]) for number in numbers]

    return lambda batch: stack_predictions(bring_back(answers(batch["number"].numpy()), batch))
