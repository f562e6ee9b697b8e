"""A trained network -> the files of every format that the settings ask for: a SavedModel, model.onnx, and .tflite.

A .tflite has its outputs in order, its metadata and its labels in it: one file that needs no other.
"""

import gc
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import flatbuffers
import keras
import numpy as np
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema

from bakeoff.dataset.records.manifest import write_labels
from bakeoff.export import tflite_metadata, tflite_worker
from bakeoff.export.devices import OWN_LAYOUT
from bakeoff.export.head_maps import HEADS
from bakeoff.export.onnx_build import onnx_bytes, rule_of
from bakeoff.export.saved_model import save_servable
from bakeoff.export.settings import ONNX, RKNN, SAVED_MODEL, Export, Format
from bakeoff.export.tflite_build import lite_module, output_names, zero_of
from bakeoff.export.tflite_metadata import (
    DEVIATION,
    LABELS,
    MEAN,
    METADATA,
    RULE,
    UNIT,
    VIEW,
    ModelMetadata,
    pack_files,
    write_metadata,
)
from bakeoff.export.tflite_worker import Representative
from bakeoff.export.upsample import enlarge_by_one_operation
from bakeoff.export.yolo_layout import point_module
from bakeoff.foundation.child_process import run_module
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.input.batches import evaluation_batches
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.view import Shape, View
from bakeoff.learning.networks.network import Network
from bakeoff.learning.networks.quantized.graph import Unknown
from bakeoff.learning.networks.quantized.quantizable import Quantizable, eight_bits_of, network_in_floats
from bakeoff.learning.networks.tiles import Tiles
from bakeoff.learning.tasks.detection import Detection
from bakeoff.learning.tasks.task import Task, Tensors
from bakeoff.learning.tasks.tiled import make_cutter


def write_files(
    network: keras.Model, model: Network, task: Task, classes: tuple[str, ...], settings: Export, *,
    about: ModelMetadata, representative: Representative, folder: Path,
) -> Iterator[Format]:  # fmt: skip
    """Write a file after another, and yield the format of each; that for Rockchip is made in rknn_report.py."""
    write_labels(classes, folder)
    own = View.of(model)
    view = replace(own, fit=settings.fit_for(own.fit))
    texts = {LABELS: (folder / LABELS).read_text(encoding="utf-8"), VIEW: json.dumps(view.as_tree())}
    of_points = False
    if isinstance(task, Detection) and settings.layout not in (OWN_LAYOUT, HEADS):
        of_points = True
        texts[RULE] = json.dumps({"layout": settings.layout} | rule_of(task.model))
    converted: dict[Format, ConvertedFile] = {}
    for form, file in settings.files.items():
        if form == SAVED_MODEL:
            save_servable(network, task, own, classes, folder / file)
        elif form == ONNX:
            (folder / file).write_bytes(onnx_bytes(network, task, view, about, classes, settings.layout))
        elif form != RKNN:
            converted = converted or _convert_all(network, task, len(classes), settings, representative, of_points)
            made, kind = converted[form], f"{model.task}, {form}"
            scale = UNIT if of_points else (made.zero, DEVIATION)
            metadata = write_metadata(about, kind, made.outputs, is_quantized=form == "int8", scale=scale)
            (folder / file).write_bytes(pack_files(describe(made.converted, made.outputs, metadata), texts))
        yield form
    gc.collect()  # graphs hold each other, and Python looks for such garbage seldom: see tf_loading.py


BATCH = 8  # pictures, of whose ranges the mean is taken


@dataclass(frozen=True)
class ConvertedFile:
    converted: bytes
    outputs: tuple[str, ...]  # their names
    zero: float  # the pixel that is 0 in it


def _convert_all(
    network: keras.Model, task: Task, num_classes: int, settings: Export, representative: Representative,
    of_points: bool,
) -> dict[Format, ConvertedFile]:  # fmt: skip
    """Make a network that learnt in eight bits int8 as it is, and the other forms of its weights without rounding."""
    eight, forms = eight_bits_of(network), settings.lite_formats
    if eight is None and settings.needs_eight_bits:
        eight = _range_by_means(network, representative)
    inputs = _from_zero(representative) if of_points else representative
    graphs: list[tuple[keras.Model, list[Format], Representative | None]]
    graphs = [(network_in_floats(network), [form for form in forms if not eight or form != "int8"], inputs)]
    if eight:
        graphs.append((eight, [form for form in forms if form == "int8"], None))
    files: dict[Format, ConvertedFile] = {}
    for graph, some, shown in graphs:
        with enlarge_by_one_operation(graph):
            if of_points and isinstance(task, Detection):
                module, outputs = point_module(settings.layout, graph, task.head)
            else:
                module, outputs = lite_module(graph, task, num_classes, settings), output_names(task)
        made = convert(module, some, shown, whole_outputs=settings.layout == "yolov8_corners") if some else {}
        files |= {form: ConvertedFile(file, outputs, zero_of(graph)) for form, file in made.items()}
    return files


def _range_by_means(network: keras.Model, representative: Representative) -> keras.Model | None:
    """Return the graph in eight bits, each range the mean of what batches reach: one odd picture decides little."""
    try:
        ranged = Quantizable(network_in_floats(network))
    except Unknown as unknown:
        rule = f"must be extremes for a network whose layer {unknown} has no form in eight bits, got means"
        raise ConfigError(f"export.ranges: {rule}") from None
    images = representative()

    def batches() -> Iterator[tf.Tensor]:
        while some := [*itertools.islice(images, BATCH)]:
            yield tf.constant(np.concatenate([image * DEVIATION + MEAN for [image] in some]))

    ranged.activate(batches())
    return eight_bits_of(ranged)


def representative_of(store: RecordReader, shape: Shape, settings: Export, seed: int) -> Representative:
    """Return training examples, drawn by the seed, as files are shown them: of each picture one tile."""
    drawn = np.random.default_rng(seed).permutation(store.examples)[: settings.representative_examples]
    shape = replace(shape, batch_size=1, fit=settings.fit_for(shape.fit))
    look_at = _cut_one_tile(shape.view, shape.tiles) if shape.tiles else _take_whole

    def inputs() -> Iterator[list[np.ndarray]]:
        for number, batch in enumerate(evaluation_batches(store, shape, np.sort(drawn))):
            for image in look_at(number, batch):
                yield [((image - MEAN) / DEVIATION).astype(np.float32)[None]]

    return inputs


def _take_whole(number: int, batch: Tensors) -> np.ndarray:
    return batch["image"].numpy()


def _cut_one_tile(view: View, tiles: Tiles) -> Callable[[int, Tensors], np.ndarray]:
    """Return what cuts one tile out of a batch of one picture, another each time."""
    cut = make_cutter(view)

    def look_at(number: int, batch: Tensors) -> np.ndarray:
        [picture] = batch["pixels"]
        windows = tiles.windows(*picture.shape[:2])
        return cut(picture, tf.constant(windows[[number % len(windows)]], tf.int32)).numpy()

    return look_at


def _from_zero(representative: Representative) -> Representative:
    """Return the same inputs with values 0..1."""
    return lambda: ([(image + 1) / 2 for image in images] for images in representative())


def convert(
    module: tf.Module, forms: Sequence[Format], representative: Representative | None, *, whole_outputs: bool = False
) -> dict[Format, bytes]:
    """Convert in a process of its own, for the converter keeps memory. `representative` gives inputs of the graph, from
    which int8 learns the ranges of values; None: the graph has its ranges.

    float32   weights and sums as they were trained
    float16   weights in half the bytes, sums in float32
    dynamic   weights in a quarter of the bytes, sums in float32
    int8      weights and sums in 8 bits; takes uint8 pixels as they are, and with `whole_outputs` answers in uint8
    """
    answer = module.answer.get_concrete_function()
    request = {
        "forms": [*forms], "whole_outputs": whole_outputs, "shape": answer.inputs[0].shape.as_list(),
        "has_ranges": representative is None,
    }  # fmt: skip

    def feed(given: IO[bytes]) -> None:
        for images in representative() if representative and "int8" in forms else ():
            given.write(np.ascontiguousarray(images[0], np.float32).data)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)  # some cannot be saved; none is used
        tf.saved_model.save(module, str(folder / tflite_worker.SAVED), answer, options)
        (folder / tflite_worker.REQUEST).write_text(json.dumps(request), encoding="utf-8")
        run_module("export.formats", tflite_worker.WORKER, name, feed=feed)
        return {form: (folder / form).read_bytes() for form in forms}


def describe(converted: bytes, outputs: Sequence[str], metadata: bytes) -> bytes:
    """Order the outputs as listed, and put the metadata in. Controllers go by places, and the converter has an order of
    its own. The outputs' tensors get our names."""
    model = schema.ModelT.InitFromPackedBuf(converted)
    [graph], [signature] = model.subgraphs, model.signatureDefs
    places = {_text(output.name): output.tensorIndex for output in signature.outputs}
    graph.outputs = [places[name] for name in outputs]
    for name in outputs:
        graph.tensors[places[name]].name = name
    graph.tensors[graph.inputs[0]].name = "image"
    model.buffers.append(schema.BufferT(data=list(metadata)))
    model.metadata = [*(model.metadata or []), schema.MetadataT(METADATA, len(model.buffers) - 1)]
    builder = flatbuffers.Builder(len(converted) + len(metadata) + 1024)
    builder.Finish(model.Pack(builder), file_identifier=tflite_metadata.MODEL_IDENTIFIER)
    return bytes(builder.Output())


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
