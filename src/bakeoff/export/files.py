"""Every format that the settings ask for, as files of one folder."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np

from bakeoff.export.convert import Representative, convert
from bakeoff.export.lite_graph import DEVIATION, MEAN, lite_module, output_names
from bakeoff.export.metadata import LABELS, metadata
from bakeoff.export.pack import packed
from bakeoff.export.saved_model import save_servable
from bakeoff.input.batches import evaluation_batches
from bakeoff.input.shape import Shape, View
from bakeoff.input.store import Store
from bakeoff.networks import Network
from bakeoff.predict.lite_metadata import VIEW
from bakeoff.records.manifest import write_labels
from bakeoff.run.export import SAVED_MODEL, Export
from bakeoff.tasks.task import Task


def write_files(
    network: keras.Model,
    model: Network,
    task: Task,
    classes: tuple[str, ...],
    settings: Export,
    *,
    name: str,
    representative: Representative,
    folder: Path,
    written: Callable[[], None],
) -> None:
    """`written` is told of each format."""
    write_labels(classes, folder)
    view, outputs = View.of(model), output_names(task)
    lite = [form for form in settings.formats if form != SAVED_MODEL]
    module = lite_module(network, task, len(classes), settings) if lite else None
    texts = {LABELS: (folder / LABELS).read_text(encoding="utf-8"), VIEW: json.dumps(dataclasses.asdict(view))}
    for form, file in settings.files.items():
        if module is None or form == SAVED_MODEL:
            save_servable(network, task, view, classes, folder / file)
        else:
            described = metadata(name, f"{model.task}, {form}", outputs, is_quantized=form == "int8")
            content = packed(convert(module, form, representative), outputs, described, texts)
            (folder / file).write_bytes(content)
        written()


def representative_of(store: Store, shape: Shape, examples: int, seed: int) -> Representative:
    """Training examples, drawn by the seed, as the network sees them in evaluation."""
    drawn = np.random.default_rng(seed).permutation(store.examples)[:examples]

    def inputs() -> Iterator[list[np.ndarray]]:
        for batch in evaluation_batches(store, shape, np.sort(drawn)):
            for image in batch["image"].numpy():
                yield [((image - MEAN) / DEVIATION).astype(np.float32)[None]]

    return inputs
