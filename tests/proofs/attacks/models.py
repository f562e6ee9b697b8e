"""A model that somebody sends answers a picture, or is refused in a line, and does nothing besides.

SavedModels, .tflite, .onnx and .keras are made by somebody who means to: their bytes are whole, what they say is not
true. `weights_files` has the damaged ones. Loops without an end are left out: they are the sender's right.
"""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bakeoff.foundation.errors import DataError
from proofs.attacks.campaign import Attempt, Campaign, Wrong

SIDE, CLASSES = 24, ("a", "b", "c")
WITNESS = "written-by-a-model"
ODD_VALUES: tuple[Any, ...] = (
    None, -1, 0, 1.5, 10**9, 2**70, "", "x", "\0", "\x1b[31m", [], {}, [1], True, 1e400, "y" * 10**5, [[]] * 100,
)  # fmt: skip
ODD_TEXTS = (
    "",
    "{",
    "[]",
    "null",
    "[" * 10**5,
    '{"a": 1}',
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
)
EFFECTS = (
    "writes", "reads", "maps a file", "prints", "runs Python", "fails", "is huge", "writes in a branch",
    "divides by zero",
)  # fmt: skip
PROBABILITIES: tuple[Any, ...] = (
    np.full((1, 3), np.nan), np.full((1, 3), np.inf), np.zeros((1, 0)), np.zeros((1, 1)), np.zeros((1, 300)),
    np.zeros((0, 3)), np.zeros((2, 3)), np.zeros((1, 3, 3)), np.zeros(()), np.full((1, 3), -5.0), np.array([["a"] * 3]),
    np.array([[0.2, 0.3, 0.5]]),
)  # fmt: skip
BOXES: tuple[Any, ...] = (
    np.full((1, 5, 4), np.nan), np.zeros((1, 5, 4)), np.zeros((1, 0, 4)), np.zeros((1, 5, 3)), np.zeros((5, 4)),
    np.full((1, 5, 4), 1e30), np.full((1, 5, 4), -np.inf), np.zeros((1, 3000, 4)),
    np.tile([[[0.1, 0.1, 0.5, 0.5]]], (1, 5, 1)),
)  # fmt: skip


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    from bakeoff.foundation.tf_loading import load_tensorflow
    from proofs.attacks.weights_files import FILES, _write_whole_files

    load_tensorflow()
    whole = folder / "whole"
    whole.mkdir()
    _write_whole_files(whole)
    kinds: dict[str, Callable[[Path, Path, Random], tuple[str, Path]]] = {
        "saved_model": make_saved_model, "tflite": make_lite, "onnx": make_onnx, "keras": make_keras,
    }  # fmt: skip
    for number, random in enumerate(randoms):
        place = folder / str(number)
        place.mkdir()
        kind = random.choice(list(kinds))
        how, path = kinds[kind](place, whole / FILES.get(kind, "model.keras"), random)
        yield Attempt(f"{kind}, {how}", partial(start_from if kind == "keras" else predict, path))
        shutil.rmtree(place)


# SavedModels.


def make_saved_model(place: Path, whole: Path, random: Random) -> tuple[str, Path]:
    """With the three signatures of ours, and other answers."""
    import tensorflow as tf

    path, effect = place / "saved_model", random.choice(("nothing", "nothing", *EFFECTS))
    labels: Any = random.choice(
        (list(CLASSES), [], ["a"], [b"\xff\xfe", b"\0", b"\x1b[31m"], [b"x" * 10**6] * 3, [1.5])
    )
    detects = random.random() < 0.5
    boxes, scores = (
        random.choice(BOXES),
        random.choice((np.full((1, 5), 0.9), np.full((1, 5), np.nan), np.zeros((1, 2)))),
    )
    classes = random.choice(([[1, 2, 3, 1, 1]], [[0, -1, 99, 2**40, 4]], [[1.5] * 5], [[1]]))
    count = random.choice(([5], [0], [-1], [10**6], [], [5.5]))
    probabilities = random.choice(PROBABILITIES)
    sides = random.choice(
        ([None, None, None, 3], [None, None, None, 3], [1, 7, 7, 3], [None], [None, None, None, None, 3])
    )
    witness = str(place.parent / WITNESS)

    def answer() -> dict[str, Any]:
        if detects:
            made = {"boxes": boxes, "scores": scores, "classes": classes, "count": count, "labels": [["a"] * 5]}
        else:
            made = {"probabilities": probabilities, "classes": [1], "scores": [0.5], "labels": ["a"]}
        return {name: tf.constant(value) for name, value in made.items()}

    @tf.function(input_signature=[tf.TensorSpec(sides, tf.uint8, name="images")])
    def of_pixels(images: tf.Tensor) -> dict[str, Any]:
        with tf.control_dependencies([run_effect(effect, witness)] if effect in EFFECTS else []):
            return {name: tf.identity(value) for name, value in answer().items()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="encoded")])
    def of_files(encoded: tf.Tensor) -> dict[str, Any]:
        return answer()

    @tf.function(input_signature=[])
    def labels_of() -> dict[str, Any]:
        return {"labels": tf.constant(labels) if labels else tf.constant([], tf.string)}

    signatures = {"serving_default": of_pixels, "encoded": of_files, "labels": labels_of}
    if random.random() < 0.2:
        text = random.choice(ODD_TEXTS) if random.random() < 0.5 else json.dumps({"grid": random.choice(ODD_VALUES)})
        signatures["tiles"] = tf.function(lambda: {"tiles": tf.constant(text)}, input_signature=[])
    if random.random() < 0.1:
        del signatures[random.choice(list(signatures))]
    module = tf.Module()
    module.functions = list(signatures.values())
    tf.saved_model.save(module, str(path), signatures=signatures)
    about = f"boxes {boxes.shape}, count {count}" if detects else f"{probabilities.dtype} {probabilities.shape}"
    return f"{effect}, {about}, {len(labels)} labels, {sides}", path


def run_effect(effect: str, witness: str) -> Any:
    """Return the operation that does it; None for nothing."""
    import tensorflow as tf

    def write() -> Any:
        return tf.io.write_file(witness, "x")

    made: dict[str, Callable[[], Any]] = {
        "writes": write,
        "reads": lambda: tf.io.read_file("/etc/passwd"),
        "maps a file": lambda: tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[16], memory_region_name="/etc/passwd"),
        "prints": lambda: tf.print("x"),
        "runs Python": lambda: tf.numpy_function(lambda: 1, [], tf.int64),
        "fails": lambda: tf.debugging.Assert(tf.constant(False), ["x"]),
        "is huge": lambda: tf.reduce_sum(tf.random.uniform([10**6, 10**6])),
        "writes in a branch": lambda: tf.cond(tf.random.uniform([]) >= 0.0, write, lambda: tf.no_op()),
        "divides by zero": lambda: tf.constant(1) // tf.size(tf.random.uniform([0])),
    }
    return made[effect]() if effect in made else None


# TensorFlow Lite.


def make_lite(place: Path, whole: Path, random: Random) -> tuple[str, Path]:
    """With other texts packed in; the network is a whole one."""
    path, texts = place / "model.tflite", _read_texts(whole)
    name = random.choice([*texts, "rule.json"])
    if name.endswith(".json"):
        tree = json.loads(
            texts.get(name, '{"layout": "yolov8", "min_score": 0.1, "max_overlap": 0.5, "max_detections": 9}')
        )
        if random.random() < 0.2:
            texts[name] = random.choice(ODD_TEXTS)
            how = f"{name}: {texts[name][:20]!a}"
        else:
            key = random.choice([*tree, "tiles", "size"])
            tree[key] = random.choice(ODD_VALUES)
            texts[name], how = json.dumps(tree), f"{name}: {key} is {str(tree[key])[:20]!a}"
    else:
        texts[name] = random.choice(("", "a", "a\n" * 10**5, "\x1b[31m\n\0\n\u202e", "a\n" * 3))
        how = f"{name}: {texts[name][:10]!a}"
    network = whole.read_bytes()
    network = network[: _start_of_zip(whole)]
    from bakeoff.export.tflite_metadata import pack_files

    path.write_bytes(pack_files(network, texts))
    return how, path


def _read_texts(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def _start_of_zip(path: Path) -> int:
    with zipfile.ZipFile(path) as packed:
        return min(one.header_offset for one in packed.infolist())


# ONNX.


def make_onnx(place: Path, whole: Path, random: Random) -> tuple[str, Path]:
    """Constants in the place of a network, and metadata of any kind."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    path, detects = place / "model.onnx", random.random() < 0.5
    sides = random.choice(
        ([1, 3, SIDE, SIDE], [1, 3, SIDE, SIDE], [1, 3, 10**6, 10**6], [3, SIDE], [1, 3, "h", "w"], [])
    )
    kind = random.choice((TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.STRING, TensorProto.INT64))
    given = helper.make_tensor_value_info("images", kind, sides)
    outputs: dict[str, Any] = {"probabilities": random.choice(PROBABILITIES)}
    if detects:
        scores = random.choice((np.full((1, 5, 3), 0.9), np.full((1, 5, 300), 0.9), np.full((1, 2, 3), np.nan)))
        outputs = {"boxes": random.choice(BOXES), "scores": scores}
    numbers = {name: value.astype(np.float32) for name, value in outputs.items() if value.dtype.kind == "f"}
    nodes = [
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(one)) for name, one in numbers.items()
    ]
    nodes += [_odd_node(random, name) for name in outputs.keys() - numbers.keys()]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", [given], infos)
    if random.random() < 0.2:
        graph.initializer.append(_outside(random))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    rule = {"min_score": 0.1, "max_overlap": 0.5, "max_detections": 100}
    facts: dict[str, Any] = {
        "task": "detection" if detects else "classification",
        "labels": CLASSES,
        "view": {"size": SIDE},
    }
    facts |= {"suppression": rule} if detects else {}
    how = "as it should be"
    if random.random() < 0.7:
        place_of = random.choice([*facts, "layout", "view.size", "view.sampling", "view.tiles", "suppression.min_score",
                                  "suppression.max_detections", "view.frames", "view.central_crop"])  # fmt: skip
        outer, _, inner = place_of.partition(".")
        value = random.choice((*ODD_VALUES, "yolov8", "yolov8_corners", "rknn"))
        if inner:
            facts[outer] = {**facts.get(outer, {}), inner: value}
        else:
            facts[outer] = value
        how = f"{place_of} is {str(value)[:20]!a}"
    for key, value in facts.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = (
            key,
            value if key in ("task", "layout") and isinstance(value, str) else json.dumps(value),
        )
    onnx.save(model, str(path))
    return f"{how}, {sides}, {[one.shape for one in outputs.values()]}", path


def _odd_node(random: Random, name: str) -> Any:
    from onnx import helper

    return helper.make_node(random.choice(("NoSuchOperation", "Identity")), ["images"], [name])


def _outside(random: Random) -> Any:
    """A tensor whose data are in another file."""
    from onnx import TensorProto

    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[16], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", random.choice(("/etc/passwd", "../../../etc/passwd", "none"))), ("length", "16")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return tensor


# Keras.


def make_keras(place: Path, whole: Path, random: Random) -> tuple[str, Path]:
    """An archive whose config would run code, or whose weights are odd."""
    path, how = (
        place / "model.keras",
        random.choice(("lambda", "module", "nested", "no config", "two weights", "outside")),
    )
    witness = str(place.parent / WITNESS)
    code = {"class_name": "__lambda__", "config": {"code": "4wAAAAA=", "defaults": None, "closure": None}}
    configs = {
        "lambda": {"module": "keras.layers", "class_name": "Lambda", "config": {"function": code}},
        "module": {"module": "os", "class_name": "system", "config": {"command": f"touch {witness}"}},
        "nested": {"config": {}},
    }
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "config.json" and how == "no config":
                continue
            if name == "config.json" and how in configs:
                content = b"[" * 10**6 if how == "nested" else json.dumps(configs[how]).encode()
            new.writestr(name, content)
            if name.endswith(".h5") and how == "two weights":
                new.writestr(name, random.randbytes(1000))
        if how == "outside":
            new.writestr("../../" + WITNESS, b"x")
    return how, path


# How they are used.


def predict(path: Path) -> None:
    """As the command does, on one picture."""
    from bakeoff.foundation.progress import progress
    from bakeoff.inference.predict.model_interface import opened
    from bakeoff.inference.predict.read_images import sources
    from bakeoff.inference.predict.run import FilePredictor
    from bakeoff.inference.predict.select_model import find_model
    from support.drawing import encoded, write

    picture, out = write(path.parent / "picture.png", encoded(1)), path.parent / "out"
    model = opened(find_model(path))
    work = FilePredictor(model, out, 0.5, draws=True)
    files = sources([str(picture)], out)
    with progress("predict", work.units(files), "images") as bar:
        tally = work.run(files, bar)
    require_nothing_written(path)
    if tally.failures:
        raise DataError("\n".join(f"{failed.name}: {why}" for failed, why in tally.failures))
    for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line, parse_constant=_refuse)
        if row["score"] != row["score"]:
            raise Wrong(f"a score that is none: {line}")


def _refuse(text: str) -> None:
    raise Wrong(f"results.jsonl has {text}")


def start_from(path: Path) -> None:
    from proofs.attacks.weights_files import start_from as start

    try:
        start(path)
    finally:
        require_nothing_written(path)


def require_nothing_written(path: Path) -> None:
    if any((place / WITNESS).exists() for place in path.parents[:4]):
        raise Wrong("the model has written a file")


CAMPAIGN = Campaign(200, attempts)
