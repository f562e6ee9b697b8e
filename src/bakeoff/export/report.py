"""`models/export/export.json`: each file's metrics beside the network's, its size and how long an answer takes.

{"headline": "mAP_50", "examples": 150, "of": 150, "weights": "best", "processor": "...", "cores": 2,
 "network": {"mAP_50": 0.821, ...}, "network_as_a_file": {"detections": 10, "mAP_50": 0.782, ...},
 "files": {"dynamic": {"file": "model.tflite", "bytes": 815568, "mAP_50": 0.781, "drop": 0.001,
                       "latency_ms": 1.2, "calls": 20, "threads": 1}, ...}}
"""

import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.errors import DataError
from bakeoff.export.latency import latency
from bakeoff.export.parity import AS_A_FILE, NETWORK, Answerer, as_a_file, judged, numbers_of, of_lite, of_saved_model
from bakeoff.input.batches import evaluation_batches
from bakeoff.input.shape import Shape
from bakeoff.input.store import Store
from bakeoff.machine import cores
from bakeoff.predict.lite_model import LiteModel
from bakeoff.predict.saved_model import SavedModel
from bakeoff.run.options import SAVED_MODEL, Export
from bakeoff.tasks.detection import Detection
from bakeoff.tasks.task import Task
from bakeoff.training.step import compiled_prediction

Model = SavedModel | LiteModel


def sample_of(store: Store, most: int) -> np.ndarray:
    """Examples at even distances; all of them for 0."""
    count = min(most, store.examples) if most else store.examples
    return np.linspace(0, store.examples - 1, count).round().astype(int)


def measured(
    network: keras.Model, task: Task, settings: Export, store: Store, shape: Shape, folder: Path,
    seen: Callable[[int], None],
) -> dict[str, Any]:  # fmt: skip
    """What export.json holds."""
    models = {form: opened(folder / file, settings.threads) for form, file in settings.files.items()}
    predict = compiled_prediction(network, task)
    answerers: dict[str, Answerer] = {NETWORK: lambda batch: predict(batch["image"])}
    if isinstance(task, Detection) and set(models) != {SAVED_MODEL}:
        answerers[AS_A_FILE] = as_a_file(network, task, settings)
    for form, model in models.items():
        answerers[form] = of_saved_model(model, store.read) if isinstance(model, SavedModel) else of_lite(model)
    numbers = sample_of(store, settings.sample)
    scores = judged(task, answerers, evaluation_batches(store, shape, numbers), seen)
    found = {name: numbers_of(task, score) for name, score in scores.items()}
    files = {}
    for form, model in models.items():
        own, path = found[form], folder / settings.files[form]
        reference = found[AS_A_FILE if AS_A_FILE in found and form != SAVED_MODEL else NETWORK]
        files[form] = {"file": path.name, "bytes": size_of(path), **own}
        files[form]["drop"] = _drop(reference.get(task.headline), own.get(task.headline))
        files[form] |= timed(model, shape, settings)
    report: dict[str, Any] = {
        "headline": task.headline, "examples": len(numbers), "of": store.examples, "weights": settings.weights,
        "processor": platform.processor() or platform.machine(), "cores": cores(), NETWORK: found[NETWORK],
    }  # fmt: skip
    if AS_A_FILE in found:
        report[AS_A_FILE] = {"detections": settings.max_detections, **found[AS_A_FILE]}
    return report | {"files": files}


def require_parity(report: Mapping[str, Any], most: float) -> None:
    """Refuses files that lose more of the headline metric than `export.max_drop`."""
    headline = report["headline"]
    lost = [
        f"{form} has {headline} {file[headline]:.3f}, {file['drop']:.3f} less than the network"
        for form, file in report["files"].items()
        if file["drop"] is not None and file["drop"] > most
    ]
    if lost:
        raise DataError(
            f"export.max_drop: must be at most {most:g} on {report['examples']} validation examples, but "
            f"{'; '.join(lost)}; leave such files out of export.formats, or allow a larger export.max_drop"
        )


def opened(path: Path, threads: int) -> Model:
    return SavedModel(path) if path.is_dir() else LiteModel(path, threads)


def timed(model: Model, shape: Shape, settings: Export) -> dict[str, Any]:
    """Of one image or clip that has the network's size already."""
    sides = [shape.size, shape.size, 3]
    pixels = np.full([shape.frames, *sides] if shape.task == "video" else sides, 127, np.uint8)
    if isinstance(model, LiteModel):
        model.put(pixels)
        taken, calls = latency(model.call, settings.latency_calls)
        return {"latency_ms": taken, "calls": calls, "threads": settings.threads}
    taken, calls = latency(lambda: model.answer(pixels), settings.latency_calls)
    return {"latency_ms": taken, "calls": calls, "threads": tf.config.threading.get_intra_op_parallelism_threads()}


def size_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _drop(reference: float | None, own: float | None) -> float | None:
    """None where there was nothing to count the metric on."""
    return None if reference is None or own is None else reference - own
