"""What every checkpoint of a network shares in MLflow, made once for it by a process with TensorFlow.

    layout.json    the network as Keras saves it, and where the file of weights has each of them
    answers/       graphs without weights: an image of any size -> what the network sees; its outputs -> answers
    labels.txt     the names of the classes

`python -m bakeoff.tracking.sync.make_network_files FOLDER` reads the network's settings from standard input.
"""

import inspect
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import DataError, errors_in_one_line
from bakeoff.foundation.files import building
from bakeoff.foundation.plain_values import load_fields
from bakeoff.foundation.tf_loading import load_tensorflow
from bakeoff.tracking.journal.artifacts import LABELS
from bakeoff.tracking.journal.entries import NetworkEntry
from bakeoff.tracking.journal.keras_archive import CONFIG, METADATA, WEIGHTS, ArchiveLayout, Weight

if TYPE_CHECKING:
    import keras
    import numpy as np

    from bakeoff.learning.networks.network import Network

LAYOUT, ANSWERS = "layout.json", "answers"
LESS_URGENT = 5  # than training; at 19 it would stand still beside one that fills all cores


def make_network_files(recipe: NetworkEntry, out: Path) -> None:
    """Build the network of a recipe, and write the files, all of them or none."""
    from bakeoff.learning.networks import NETWORKS
    from bakeoff.learning.run_file.parse import Problems, parse_kind

    problems = Problems(lambda key: "run.yaml")
    model: Network = parse_kind(NETWORKS, recipe.model, "model", problems)
    problems.raise_any()
    network = model.build(len(recipe.classes))
    with building(out) as folder:
        layout = describe_layout(network)
        _save_answers(network, model, recipe, folder / ANSWERS)
        (folder / LABELS).write_text("".join(f"{text}\n" for text in recipe.classes), encoding="utf-8")
        (folder / LAYOUT).write_text(json.dumps(asdict(layout)), encoding="utf-8")


def describe_layout(network: "keras.Model") -> ArchiveLayout:
    """Return how Keras saves a network with its own layers alone. The network's weights are others afterwards."""
    import keras
    import numpy as np

    for layer in network._flatten_layers():
        if isinstance(layer, keras.layers.BatchNormalization):  # those from here differ from Keras' in training alone
            layer.__class__ = keras.layers.BatchNormalization
        if inspect.isfunction(getattr(layer, "kernel_initializer", None)):  # of ours, and these weights are in the file
            layer.kernel_initializer = keras.initializers.Zeros()
    for number, weight in enumerate(network.weights):
        weight.assign(np.full(weight.shape, number))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "numbered.keras"
        network.save(file)
        with zipfile.ZipFile(file) as packed:
            config, metadata = (packed.read(name).decode() for name in (CONFIG, METADATA))
            groups, arrays = _read_weights(Path(packed.extract(WEIGHTS, folder)))
    _require_keras_alone(json.loads(config))
    placed: dict[int, Weight] = {}
    states: dict[str, Any] = {}
    for place, array in arrays.items():
        number = int(array.flat[0]) if array.size else -1
        is_weight = 0 <= number < len(network.weights) and number not in placed and (array == number).all()
        if is_weight and array.shape == tuple(network.weights[number].shape):
            placed[number] = Weight(network.weights[number].path, place, array.dtype.str, array.shape)
        else:
            states[place] = (array.dtype.str, array.tolist())
    if len(placed) != len(network.weights):
        raise DataError("Keras saves other weights than the network has")
    return ArchiveLayout(config, metadata, tuple(placed[number] for number in sorted(placed)), groups, states)


def _read_weights(file: Path) -> tuple[dict[str, dict[str, str]], dict[str, "np.ndarray"]]:
    """Return the attributes of all groups of a file of weights, and its arrays, each by its path."""
    import h5py

    groups: dict[str, dict[str, str]] = {}
    arrays: dict[str, np.ndarray] = {}

    def take(path: str, one: h5py.Group | h5py.Dataset) -> None:
        if isinstance(one, h5py.Dataset):
            arrays[path] = one[()]
        else:
            groups[path] = {name: str(value) for name, value in one.attrs.items()}

    with h5py.File(file, "r") as stored:
        take("", stored)
        stored.visititems(take)
    return groups, arrays


def _require_keras_alone(config: Mapping[str, Any]) -> None:
    foreign = {f"{one['module']}.{one['class_name']}" for one in _walk(config) if one.get("registered_name")}
    foreign = {name for name in foreign if name.partition(".")[0] != "keras"}
    if foreign:
        raise DataError(f"its layers {', '.join(sorted(foreign))} are not Keras' own, so MLflow cannot open it")


def _walk(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object of a model's config."""
    if isinstance(tree, Mapping):
        if "module" in tree and "class_name" in tree:
            yield tree
        tree = list(tree.values())
    for part in tree if isinstance(tree, list) else ():
        yield from _walk(part)


def _save_answers(network: "keras.Model", model: "Network", recipe: NetworkEntry, path: Path) -> None:
    """Save what stands before and behind the network, by the code that `predict` runs."""
    import tensorflow as tf

    from bakeoff.foundation.tf_graph import compile_graph
    from bakeoff.learning.input import augment_and_resize
    from bakeoff.learning.input.letterbox_graph import find_window, restore_boxes
    from bakeoff.learning.input.view import View
    from bakeoff.learning.networks.letterbox import LETTERBOX, WINDOW
    from bakeoff.learning.tasks.task import make_task

    view, task = View.of(model), make_task(model, recipe.classes, multi_label=recipe.multi_label)
    images = tf.TensorSpec([*[None] * (len(network.input_shape) - 1), 3], tf.uint8, name="images")
    outputs = {name: tf.TensorSpec(one.shape, one.dtype, name=name) for name, one in network.output.items()}

    @partial(compile_graph, input_signature=[images])
    def fit(images: tf.Tensor) -> tf.Tensor:
        return tf.map_fn(
            lambda image: augment_and_resize.fit({"image": image}, view)["image"], images,
            fn_output_signature=tf.float32,
        )  # fmt: skip

    module = tf.Module()
    module.fit = fit
    module.answer = compile_graph(task.predict, input_signature=[outputs])
    if view.fit == LETTERBOX and model.task == "detection":  # the model's file looks whether it is there

        def restore(predictions: dict[str, tf.Tensor], images: tf.Tensor) -> dict[str, tf.Tensor]:
            window = find_window(tf.shape(images)[1:3], view.size)
            return restore_boxes(predictions, {WINDOW: tf.repeat(window[None], tf.shape(images)[0], axis=0)})

        predictions = module.answer.get_concrete_function().structured_outputs
        named = {name: tf.TensorSpec(one.shape, one.dtype, name=name) for name, one in predictions.items()}
        module.restore = compile_graph(restore, input_signature=[named, images])
    tf.saved_model.save(module, str(path))


def main() -> None:
    with errors_in_one_line():
        if hasattr(os, "nice"):
            os.nice(LESS_URGENT)
        recipe = load_fields(NetworkEntry, json.load(sys.stdin))
        load_tensorflow()
        make_network_files(recipe, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
