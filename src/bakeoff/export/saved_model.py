"""A trained network as a SavedModel, which anyone with TensorFlow can run: pixels or files in, named answers out."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from uuid import UUID

import keras
import numpy as np
import tensorflow as tf
from tensorflow.core.framework.attr_value_pb2 import NameAttrList
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as SavedModelFile

from bakeoff.export.foreign_models import CANNOT, check_answer, errors_naming, require_labels
from bakeoff.export.tflite_run import Predictions
from bakeoff.foundation.errors import DataError, one_line, show
from bakeoff.foundation.tf_graph import compile_graph
from bakeoff.learning.input import augment_and_resize
from bakeoff.learning.input.letterbox_graph import restore_boxes
from bakeoff.learning.input.view import View
from bakeoff.learning.networks.letterbox import LETTERBOX, WINDOW
from bakeoff.learning.networks.tiles import Tiles
from bakeoff.learning.tasks.task import Task, Tensors

SIGNATURES = {"serving_default", "encoded", "labels"}
TILES = "tiles"  # a signature of models that look at parts of pictures
# Operations that do more than calculate: they read and write files, run Python, print, or talk to other machines.
EFFECTS = re.compile(
    "File|PyFunc|Save|Restore|Checkpoint|Remap|Vocab|Proto|Dataset|Iterator|Reader|Record|Debug|Summary|Event|Print|"
    "Send|Recv|Remote|Rpc|Collective|Abort|ImmutableConst"
)
ANSWERS = (
    {"boxes", "scores", "classes", "labels", "count"},
    {"classes", "scores", "labels", "probabilities"},
    {"scores", "labels"},
)


def save_servable(network: keras.Model, task: Task, view: View, classes: Sequence[str], path: Path) -> None:
    """Save what is used so:

    model = tf.saved_model.load("models/export/saved_model").signatures
    model["serving_default"](images=...)  # uint8 (n, height, width, 3) of any size; clips (n, frames, height, width, 3)
    model["encoded"](encoded=...)         # bytes of JPEG or PNG files (n,), each of its own size; of clips (n, frames)
    model["labels"]()                     # {"labels": (k,)} of all classes, in the order of their ids
    -> detection       {"boxes": (n, m, 4) ymin xmin ymax xmax 0..1, "scores", "classes" ids 1..k, "labels", "count"}
    -> classification  {"classes": (n,) ids 1..k, "scores" (n,), "labels" (n,), "probabilities": (n, k)}
                       {"scores": (n, k), "labels": (n, k) of every class} if an example may have several labels
    """
    texts = tf.constant(["", *classes])  # by id; no text for what is padding
    of_clips = len(network.input_shape) == 5
    images_of, files_of = [*[None] * (len(network.input_shape) - 1), 3], [None, None] if of_clips else [None]

    @compile_graph
    def answer(shown: Tensors) -> Tensors:
        predictions = restore_boxes(task.predict(network(shown["image"], training=False)), shown)
        return predictions | {"labels": tf.gather(texts, _ids(predictions, len(classes)))}

    @partial(compile_graph, input_signature=[tf.TensorSpec(images_of, tf.uint8, name="images")])
    def of_pixels(images: tf.Tensor) -> Tensors:
        return answer(_each(images, lambda image: augment_and_resize.fit({"image": image}, view), view))

    @partial(compile_graph, input_signature=[tf.TensorSpec(files_of, tf.string, name="encoded")])
    def of_files(encoded: tf.Tensor) -> Tensors:
        def fitted(files: tf.Tensor) -> Tensors:
            first = tf.io.decode_image(files[0] if of_clips else files, channels=3, expand_animations=False)
            size = tf.cast(tf.shape(first)[:2], tf.int64)
            return augment_and_resize.fit({"image": files, "size": size}, view)

        return answer(_each(encoded, fitted, view))

    @partial(compile_graph, input_signature=[])
    def labels() -> Tensors:
        return {"labels": texts[1:]}

    module = tf.Module()
    module.network = network  # so that the variables are saved with it
    signatures = {"serving_default": of_pixels, "encoded": of_files, "labels": labels}
    if view.tiles:
        signatures[TILES] = _make_tiles_signature(view.tiles)
    module.functions = list(signatures.values())
    tf.saved_model.save(module, str(path), signatures=signatures)
    _name_by_content(path)


def _make_tiles_signature(tiles: Tiles) -> Callable[[], Tensors]:
    """Return a signature that says in JSON how whoever asks is to cut pictures; the model answers one tile."""
    settings = tf.constant(json.dumps(asdict(tiles)))
    return compile_graph(lambda: {TILES: settings}, input_signature=[])


def _name_by_content(path: Path) -> None:
    """Replace the random part of the model's fingerprint, so that equal models are equal files."""
    file = path / "fingerprint.pb"
    fingerprint = FingerprintDef.FromString(file.read_bytes())
    fingerprint.uuid = ""
    fingerprint.uuid = str(UUID(bytes=hashlib.sha256(fingerprint.SerializeToString(deterministic=True)).digest()[:16]))
    file.write_bytes(fingerprint.SerializeToString(deterministic=True))


def _each(examples: tf.Tensor, fitted: Callable[[tf.Tensor], Tensors], view: View) -> Tensors:
    names = ("image", WINDOW) if view.fit == LETTERBOX else ("image",)
    return tf.map_fn(fitted, examples, fn_output_signature=dict.fromkeys(names, tf.float32))


def _ids(predictions: Tensors, num_classes: int) -> tf.Tensor:
    """Return the ids whose texts stand beside the answers: 0 for none."""
    if "count" in predictions:
        places = tf.range(tf.shape(predictions["classes"])[1])
        return tf.where(places < predictions["count"][:, None], predictions["classes"], 0)
    if "classes" in predictions:
        return predictions["classes"]
    return tf.ones_like(predictions["scores"], tf.int64) * tf.range(1, num_classes + 1, dtype=tf.int64)


def require_calculations(path: Path) -> None:
    """Refuse a SavedModel that does more than calculate when it is loaded or asked; it would run with all rights."""
    try:
        file = SavedModelFile.FromString((path / "saved_model.pb").read_bytes())
    except Exception as error:  # whatever protobuf raises for what the file holds
        raise DataError(f"{path}: cannot be loaded ({one_line(error)})") from None
    if len(file.meta_graphs) != 1 or not file.meta_graphs[0].HasField("object_graph_def"):
        raise DataError(f"{path}: is a SavedModel of other software: it is not of TensorFlow 2")
    graph = file.meta_graphs[0]
    functions = {function.signature.name: function for function in graph.graph_def.library.function}
    waiting, seen = [*graph.object_graph_def.concrete_functions], set[str]()  # what saves variables is none of these
    while waiting:
        name = waiting.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        if odd := next((node.op for node in functions[name].node_def if EFFECTS.search(node.op)), None):
            raise DataError(f"{path}: does more than calculate, by the operation {show(odd)}; it is not loaded")
        waiting += _list_called(functions[name])


def _list_called(function: FunctionDef) -> Iterable[str]:
    for node in function.node_def:
        yield node.op
        for value in node.attr.values():
            called: list[NameAttrList] = [value.func, *value.list.func]
            yield from (one.name for one in called if one.name)


class SavedModel:
    """One that was saved so, and answers one image or clip at a time; with `tiles`, one tile of an image."""

    def __init__(self, path: Path) -> None:
        if not (path / "saved_model.pb").is_file():
            raise DataError(f"{path}: is no SavedModel, it holds no saved_model.pb")
        require_calculations(path)
        self.path = path
        with errors_naming(path, "cannot be loaded"):
            self._loaded = tf.saved_model.load(str(path))
        signatures = getattr(self._loaded, "signatures", {})
        if not set(signatures) >= SIGNATURES:
            has, wanted = ", ".join(sorted(signatures)) or "none", ", ".join(sorted(SIGNATURES))
            raise DataError(
                f"{path}: is a SavedModel of other software, or of an earlier export: its signatures must be {wanted}, "
                f"as export writes them, got {has}"
            )
        self._of_pixels, self._of_files = signatures["serving_default"], signatures["encoded"]
        given = set(self._of_pixels.structured_outputs)
        if given not in ANSWERS:
            raise DataError(f"{path}: is a SavedModel of other software: it answers {', '.join(sorted(given))}")
        with errors_naming(path, "is a SavedModel of other software"):
            self.labels = tuple(label.decode() for label in signatures["labels"]()["labels"].numpy())
            settings = signatures.get(TILES)
            self.tiles = Tiles.of(json.loads(settings()[TILES].numpy())) if settings else None
            images = self._of_pixels.structured_input_signature[1]["images"]
        require_labels(path, self.labels)
        self.task = "detection" if "boxes" in given else "video" if images.shape.rank == 5 else "classification"

    def answer(self, pixels: np.ndarray) -> Predictions:
        """Answer uint8 (height, width, 3), or a clip (frames, height, width, 3), of any size."""
        with errors_naming(self.path, CANNOT):
            return check_answer(self.path, first_of(self._of_pixels(images=tf.constant(pixels[None]))), self.labels)

    def answer_file(self, encoded: bytes | list[bytes]) -> Predictions:
        """Answer an image file's bytes; of a clip those of its frames."""
        with errors_naming(self.path, CANNOT):
            return check_answer(self.path, first_of(self._of_files(encoded=tf.constant([encoded]))), self.labels)


def first_of(predictions: dict[str, tf.Tensor]) -> Predictions:
    """Return what was found in one example, without its axis and what is padding."""
    values = {name: value.numpy()[0] for name, value in predictions.items() if name != "labels"}
    if "count" not in values:
        return values
    real = int(values.pop("count"))
    return {name: value[:real] for name, value in values.items()}
