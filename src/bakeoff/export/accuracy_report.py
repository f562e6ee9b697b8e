"""`models/export/export.json`: each file's metrics beside the network's, and its size.

What files answer on validation examples is judged as the network itself is judged, and `drop` is what a file has lost
against the network as evaluation judges it. `network_as_a_file` says how much of that is the rule of a .tflite.
{"headline": "mAP_50", "examples": 150, "of": 150, "weights": "best", "network": {"mAP_50": 0.821, ...},
 "network_as_a_file": {...}, "files": {"dynamic": {"file": "model.tflite", "mAP_50": 0.781, "drop": 0.040, ...}, ...}}
"""

import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.dataset.records.wire import decode_features
from bakeoff.export.devices import OWN_LAYOUT
from bakeoff.export.edge_tpu import check_edge_tpu
from bakeoff.export.nms_numpy import Predictions
from bakeoff.export.onnx_run import OnnxModel
from bakeoff.export.saved_model import SavedModel
from bakeoff.export.settings import ONNX, RKNN, SAVED_MODEL, Export, Format
from bakeoff.export.tflite_operations import read_lite_file
from bakeoff.export.tflite_run import LiteModel
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.machine import cores
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input.batches import evaluation_batches
from bakeoff.learning.input.letterbox_graph import restore_boxes
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.view import Shape, View
from bakeoff.learning.networks import letterbox
from bakeoff.learning.networks.tile_merge import answer_tiles
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import Answer, Score, Task, Tensors, compile_answer, judge
from bakeoff.learning.tasks.tiled import answer_in_tiles, stack_predictions

NETWORK, AS_A_FILE, FILES = "network", "network_as_a_file", "files"
FIT = "fit"  # how images get into the square: of the network, and of the files
WARM_UP = 3
MOST_SECONDS = 20.0  # of timing; of a network that needs seconds for an answer, fewer calls are timed

Small = LiteModel | OnnxModel  # takes images of its own size
Model = SavedModel | Small


def sample_of(store: RecordReader, most: int) -> np.ndarray:
    """Return the numbers of examples at even distances; of all of them for 0."""
    count = min(most, store.examples) if most else store.examples
    return np.linspace(0, store.examples - 1, count).round().astype(int)


def compare_files(
    network: keras.Model, task: Task, settings: Export, store: RecordReader, shape: Shape, folder: Path,
    advance: Callable[[int], object],
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Return what export.json holds, and how long each file's answer takes on this machine.

    `shape` is the network's own; files are fed as their device feeds them.
    """
    models: dict[Format, Model] = {
        form: open_file(form, folder / file, settings.threads) for form, file in settings.files.items() if form != RKNN
    }
    answers: dict[str, Answer] = {NETWORK: compile_answer(network, task)}
    if isinstance(task, Detection) and settings.lite_formats and settings.layout == OWN_LAYOUT:
        answers[AS_A_FILE] = as_a_file(network, task, settings)
    fed = replace(shape, fit=settings.fit_for(shape.fit))
    of_files: dict[str, Answer] = {form: answer_of(model, store, fed.view) for form, model in models.items()}
    sample = sample_of(store, settings.sample)
    passes = [(answers | of_files, shape)] if fed == shape else [(answers, shape), (of_files, fed)]
    scores: dict[str, Score] = {}
    for some, shown in passes:
        step = advance if shown == fed else int  # each example counts once
        batches = evaluation_batches(store, shown, sample)
        scores |= judge(task, some, batches, partial(_count, step))
    numbers = {name: numbers_of(task, score) for name, score in scores.items()}
    files: dict[Format, dict[str, Any]] = {}
    for form in models:
        own, path = numbers[form], folder / settings.files[form]
        size = sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
        drop = count_drop(numbers[NETWORK].get(task.headline), own.get(task.headline))
        files[form] = {"file": path.name, "bytes": size, **own, "drop": drop}
        if form == "int8":
            files[form]["edge_tpu"] = check_edge_tpu(read_lite_file(path)).as_json()
    report: dict[str, Any] = {
        "headline": task.headline,
        "examples": len(sample),
        "of": store.examples,
        "weights": settings.weights,
        NETWORK: numbers[NETWORK],
    }
    if letterbox.LETTERBOX in (fed.fit, shape.fit):
        report[FIT] = {NETWORK: shape.fit, FILES: fed.fit}
    if AS_A_FILE in numbers:
        rule = {"detections": settings.max_detections, "per_class_suppression": settings.per_class_suppression}
        report[AS_A_FILE] = rule | numbers[AS_A_FILE]
    machine = {"processor": platform.processor() or platform.machine(), "cores": cores()}
    timing = machine | {"files": {form: _time(model, shape, settings) for form, model in models.items()}}
    return report | {FILES: files}, timing


def _count(step: Callable[[int], object], batch: Tensors, _: Tensors) -> None:
    step(len(batch["number"]))


def open_file(form: Format, path: Path, threads: int) -> Model:
    if form == SAVED_MODEL:
        return SavedModel(path)
    return OnnxModel(path, threads) if form == ONNX else LiteModel(path, threads)


def require_parity(report: Mapping[str, Any], most: float, ranges: str = "extremes") -> None:
    """Refuse files that lose more of the headline metric than `export.max_drop`; `ranges` are those of int8."""
    headline = report["headline"]
    lost = [
        f"{form} has {headline} {file[headline]:.3f}, {file['drop']:.3f} less than the network"
        for form, file in report["files"].items()
        if file["drop"] is not None and file["drop"] > most
    ]
    if lost:
        rule = f"; {describe_rule(report)}" if AS_A_FILE in report else ""
        rule += f"; {fit}" if (fit := describe_fit(report)) else ""
        is_int8 = ranges != "means" and any(line.startswith("int8 ") for line in lost)
        hint = "; of int8, also try export.ranges: means" if is_int8 else ""
        raise DataError(
            f"export.max_drop: must be at most {most:g} on {report['examples']} validation examples, but "
            f"{'; '.join(lost)}{rule}; leave such files out of export.formats, or allow a larger export.max_drop{hint}"
        )


def describe_rule(report: Mapping[str, Any]) -> str:
    """Say by which rule a detector's .tflite answers, and how good the network itself is by that rule."""
    rule, headline = report[AS_A_FILE], report["headline"]
    value = "none" if rule.get(headline) is None else f"{rule[headline]:.3f}"
    few = f"at most {rule['detections']} detections of an image (export.max_detections)"
    hides = ", a box hides those of other classes (export.per_class_suppression)"
    what = few if rule["per_class_suppression"] else few + hides
    return f"a .tflite gives {what}; by that rule the network itself has {headline} {value}"


def describe_fit(report: Mapping[str, Any]) -> str:
    """Say where the device brings images into the square in another way than training did; else nothing."""
    fits = report.get(FIT)
    if not fits or fits[NETWORK] == fits[FILES]:
        return ""
    fed = f"files are fed as their device feeds them (fit: {fits[FILES]}), training had fit: {fits[NETWORK]}"
    return f"{fed}; train with model.fit: {fits[FILES]}"


def _time(model: Model, shape: Shape, settings: Export) -> dict[str, Any]:
    """Time the answer to one image or clip that has the network's size already."""
    sides = [shape.size, shape.size, 3]
    pixels = np.full([shape.frames, *sides] if shape.task == "video" else sides, 127, np.uint8)
    call: Callable[[], object] = partial(model.answer, pixels)
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    if isinstance(model, Small):
        model.put(pixels)
        call, threads = model.call, settings.threads
    taken, calls = latency(call, settings.latency_calls)
    return {"latency_ms": taken, "calls": calls, "threads": threads}


def count_drop(reference: float | None, own: float | None) -> float | None:
    """Return None where there was nothing to count the metric on."""
    return None if reference is None or own is None else reference - own


def numbers_of(task: Task, score: Score) -> dict[str, float | None]:
    """Return the numbers where higher is better."""
    result = score.result()
    return {name: result.get(name) for name in task.measures if name in result}


def as_a_file(network: keras.Model, task: Detection, settings: Export) -> Answer:
    """Answer by the rule of a .tflite, so that what remains of a difference is the conversion's."""
    most, rule = settings.max_detections, task.model.suppression

    def one_class_each(example: tuple[tf.Tensor, tf.Tensor]) -> Tensors:
        corners, scores = example
        best = tf.reduce_max(scores, axis=-1)
        kept = tf.image.non_max_suppression(corners, best, most, rule.max_overlap, rule.min_score)
        padding = [[0, most - tf.shape(kept)[0]]]
        return {
            "boxes": tf.clip_by_value(tf.pad(tf.gather(corners, kept), [*padding, [0, 0]]), 0.0, 1.0),
            "scores": tf.pad(tf.gather(best, kept), padding),
            "classes": tf.pad(tf.gather(tf.argmax(scores, axis=-1) + 1, kept), padding),
            "count": tf.shape(kept)[0],
        }

    view = View.of(task.model)

    @partial(compile_graph, reduce_retracing=view.tiles is not None)
    def answers(images: tf.Tensor) -> Tensors:
        outputs = network(images, training=False)
        if settings.per_class_suppression:
            predictions = task.predict(outputs)
            return predictions | {"count": tf.minimum(predictions["count"], most)}
        kinds = {"boxes": tf.float32, "scores": tf.float32, "classes": tf.int64, "count": tf.int32}
        return tf.map_fn(
            one_class_each, (task.head.boxes(outputs), task.head.scores(outputs)), fn_output_signature=kinds
        )

    def of_images(batch: Tensors) -> Tensors:
        return restore_boxes(answers(batch["image"]), batch)

    return answer_in_tiles(view, of_images) if view.tiles else of_images


def answer_of(model: Model, store: RecordReader, view: View) -> Answer:
    """Let a SavedModel answer from the files in the records, so that decoding and resizing are measured with it.

    Every file answers one tile; where a picture has several, they are merged beside it.
    """

    def answer_fitted(batch: Tensors) -> Tensors:
        return stack_predictions(bring_back([model.answer(image) for image in batch["image"].numpy()], batch))

    tiles = view.tiles
    if isinstance(model, Small):
        return answer_in_tiles(view, answer_fitted) if tiles else answer_fitted
    if tiles:
        return lambda batch: stack_predictions(
            [answer_tiles(one, tiles, model.answer) for one in batch["pixels"].numpy()]
        )
    read = store.read
    return lambda batch: stack_predictions(
        [model.answer_file(_encoded(data)) for data in read(batch["number"].numpy())]
    )


def bring_back(predictions: Sequence[Predictions], batch: Tensors) -> list[Predictions]:
    """Return what files answer to each image of a batch with boxes in shares of it, not of the network's square."""
    if letterbox.WINDOW not in batch or "boxes" not in predictions[0]:
        return list(predictions)
    return list(map(letterbox.restore_boxes, predictions, batch[letterbox.WINDOW].numpy()))


def _encoded(data: bytes | None) -> Any:
    """Return the image in an example, or its frames."""
    features = decode_features(data or b"")
    return features["image/encoded"][0] if "image/encoded" in features else list(features["clip/frames"])


def latency(call: Callable[[], object], calls: int) -> tuple[float, int]:
    """Return how long a call takes on this machine: the median in milliseconds, and of how many calls."""
    start = time.perf_counter()
    for _ in range(WARM_UP):
        call()
    taken: list[float] = []
    while len(taken) < calls and (not taken or time.perf_counter() - start < MOST_SECONDS):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return 1000 * statistics.median(taken), len(taken)
