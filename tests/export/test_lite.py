"""A .tflite answers as its network does, and says of itself what a controller must know."""

import json
import signal
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import tensorflow as tf

from bakeoff.export.accuracy_report import as_a_file
from bakeoff.export.settings import Export
from bakeoff.export.tflite_build import centre_boxes, lite_module, post_process
from bakeoff.export.tflite_metadata import ModelMetadata, read_metadata
from bakeoff.export.tflite_run import LiteModel
from bakeoff.export.write_formats import convert, write_files
from bakeoff.foundation.child_process import run_module
from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError
from bakeoff.learning.networks.detector_settings import Suppression
from bakeoff.learning.tasks.detection import Detection
from support.lite_files import CLASSES, MODELS, examples, opinionated
from support.messages import missing_in

pytestmark = pytest.mark.long

EVERY = Export(formats=("float16", "float32", "int8"))
FAST = Export(formats=("float32",), per_class_suppression=False)


@pytest.fixture(scope="module")
def folder(converts_here: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector's formats, and float32 files of the others and of the detector by the faster rule."""
    folder = tmp_path_factory.mktemp("exported")
    for name, settings in {**dict.fromkeys(MODELS, FAST), "detection": EVERY, "fast": FAST}.items():
        kind = "detection" if name == "fast" else name
        model, (network, task) = MODELS[kind], opinionated(kind)
        (folder / name).mkdir()

        def pixels(kind: str = kind) -> Iterator[list[np.ndarray]]:
            yield from ([image[None] / 127.5 - 1] for image in examples(kind, 8))

        files = write_files(
            network, model, task, CLASSES, settings,
            about=ModelMetadata("test"), representative=pixels, folder=folder / name,
        )  # fmt: skip
        assert list(files) == list(settings.formats)
    return folder


@pytest.fixture
def converts_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The converter has a process of its own, as users have it."""
    monkeypatch.setattr("bakeoff.export.write_formats.run_module", run_module)


def test_each_format_is_one_file_and_the_first_is_the_main_one(folder: Path) -> None:
    names = {"model.tflite", "model_float32.tflite", "model_int8.tflite"}
    assert {path.name for path in (folder / "detection").iterdir()} == names | {"labels.txt", "label_map.pbtxt"}
    sizes = {name: (folder / "detection" / name).stat().st_size for name in names}
    assert sizes["model.tflite"] < 0.75 * sizes["model_float32.tflite"]


def test_a_damaged_file_is_refused_and_ends_no_process(folder: Path, tmp_path: Path) -> None:
    content, refused = (folder / "classification/model.tflite").read_bytes(), 0
    for at in range(8, 800, 24):
        file = tmp_path / "model.tflite"
        file.write_bytes(content[:at] + b"\xff\xff\xff\x7f" + content[at + 4 :])
        try:
            LiteModel(file)
        except DataError:
            refused += 1
    assert refused > 0


def test_a_detector_gives_controllers_their_four_outputs(folder: Path) -> None:
    from tensorflow.lite.python.interpreter import Interpreter

    with pytest.warns(UserWarning, match=r"tf.lite.Interpreter is deprecated"):
        interpreter = Interpreter(model_path=str(folder / "detection/model_float32.tflite"))
    outputs = interpreter.get_output_details()
    assert [tuple(output["shape"]) for output in outputs] == [(1, 10, 4), (1, 10), (1, 10), (1,)]
    assert {output["dtype"] for output in outputs} == {np.float32}
    assert [output["name"] for output in outputs] == ["boxes", "classes", "scores", "count"]
    assert interpreter.get_input_details()[0]["dtype"] == np.float32


@pytest.mark.parametrize(("kind", "groups"), [("detection", ["location", "category", "score"]), ("classification", [])])
def test_the_outputs_of_a_detector_are_a_group_in_the_bytes_of_its_file(
    folder: Path, kind: str, groups: list[str]
) -> None:
    """By the numbers of metadata_schema.fbs: subgraph_metadata is 3, output_tensor_groups 8, tensor_names 1."""
    file = folder / kind / ("model_float32.tflite" if kind == "detection" else "model.tflite")
    data = file.read_bytes()
    start = data.index(b"M001") - 4  # a flatbuffer begins with the place of its root, then its identifier

    def number(layout: str, place: int) -> int:
        return struct.unpack_from(layout, data, place)[0]

    def field(table: int, slot: int) -> int:
        """Where what the table points to begins; 0 if it has no such field."""
        fields = table - number("<i", table)
        offset = number("<H", fields + 4 + 2 * slot) if 4 + 2 * slot < number("<H", fields) else 0
        return table + offset + number("<I", table + offset) if offset else 0

    def items(vector: int) -> list[int]:
        places = [vector + 4 + 4 * item for item in range(number("<I", vector))] if vector else []
        return [place + number("<I", place) for place in places]

    def text(place: int) -> str:
        return data[place + 4 : place + 4 + number("<I", place)].decode()

    root = start + number("<I", start)
    [subgraph] = items(field(root, 3))
    output_groups = [(text(field(group, 0)), [text(name) for name in items(field(group, 1))]) for group in
                     items(field(subgraph, 8))]  # fmt: skip
    assert output_groups == ([("detection_result", groups)] if groups else [])
    assert text(field(root, 7)) == ("1.2.0" if groups else "1.0.0")
    if groups:
        assert set(groups) < {text(field(output, 0)) for output in items(field(subgraph, 3))}


@pytest.mark.parametrize(("file", "boxes_off", "scores_off"), [("model_float32", 1e-4, 1e-4), ("model", 0.01, 0.01)])
def test_a_detector_finds_in_a_file_what_the_network_finds(
    folder: Path, file: str, boxes_off: float, scores_off: float
) -> None:
    network, task = opinionated("detection")
    model = LiteModel(folder / f"detection/{file}.tflite")
    for image in examples("detection", 4):
        expected = {key: value.numpy()[0] for key, value in task.predict(network(image[None], training=False)).items()}
        assert expected["count"] > 10 and len(set(expected["classes"][:10])) > 1  # more than fit, of several classes
        answer = model.answer(image)
        np.testing.assert_allclose(answer["scores"], expected["scores"][:10], atol=scores_off)
        if file == "model_float32":
            np.testing.assert_array_equal(answer["classes"], expected["classes"][:10])
            np.testing.assert_allclose(answer["boxes"], expected["boxes"][:10], atol=boxes_off)


def test_a_file_answers_the_same_with_several_threads(folder: Path) -> None:
    path = folder / "detection/model_float32.tflite"
    alone = LiteModel(path)
    for threads in (2, 3, 4, 16):
        together = LiteModel(path, threads)
        for image in examples("detection", 3):
            expected, answer = alone.answer(image), together.answer(image)
            assert 3 in expected["classes"]  # at place 2, which the operation itself loses with two threads
            for name, values in expected.items():
                np.testing.assert_array_equal(answer[name], values, err_msg=f"{name} with {threads} threads")


@pytest.mark.parametrize("rule", [Suppression(), Suppression(min_score=0.0, max_detections_per_class=1)])
def test_every_class_is_found_with_any_number_of_threads(rule: Suppression) -> None:
    """Twenty-four classes, each at one anchor; with n threads the operation itself looks at all but the n-th."""
    from tensorflow.lite.python.interpreter import Interpreter

    classes, model = 24, replace(MODELS["detection"], suppression=rule)
    processed = post_process(model, classes, Export(max_detections=classes + 1))
    anchors = len(model.anchor_boxes())
    scores = np.zeros((1, anchors, classes), np.float32)
    scores[0, np.arange(classes) * 3, np.arange(classes)] = np.linspace(0.9, 0.5, classes)
    specs = [tf.TensorSpec([1, anchors, side], tf.float32, name=name) for name, side in (("a", 4), ("b", classes))]
    module = tf.Module()
    names = ("boxes", "classes", "scores", "count")
    module.answer = tf.function(lambda a, b: dict(zip(names, processed(a, b), strict=True)), input_signature=specs)
    file = convert(module, ["float32"], lambda: iter(()))["float32"]
    for threads in (1, 2, 3, 5, 16):
        with pytest.warns(UserWarning, match=r"tf.lite.Interpreter is deprecated"):
            answer = Interpreter(model_content=file, num_threads=threads).get_signature_runner()
        outputs = answer(a=np.zeros((1, anchors, 4), np.float32), b=scores)
        assert outputs["count"].item() == classes
        assert outputs["classes"][0].tolist() == [*range(classes), 0]  # the last place holds nothing


def test_by_the_faster_rule_a_place_has_one_class_and_a_box_hides_all_that_overlap_it(folder: Path) -> None:
    """Against a NumPy version; the network's own answers by this rule, which files are compared with, are the same."""
    network, task = opinionated("detection")
    assert isinstance(task, Detection)
    model, by_the_rule = LiteModel(folder / "fast/model.tflite"), as_a_file(network, task, FAST)
    for image in examples("detection", 4):
        outputs = {name: value.numpy()[0] for name, value in network(image[None], training=False).items()}
        anchors, codes = centre_boxes(task.model.anchor_boxes()), outputs["boxes"] / np.array([10, 10, 5, 5])
        middle, half = codes[:, :2] * anchors[:, 2:] + anchors[:, :2], np.exp(codes[:, 2:]) * anchors[:, 2:] / 2
        corners, scores = np.concatenate([middle - half, middle + half], axis=1), 1 / (1 + np.exp(-outputs["classes"]))
        kept: list[int] = []
        for place in np.argsort(-scores.max(axis=1)):
            if len(kept) < 10 and all(overlap(corners[place], corners[other]) <= 0.5 for other in kept):
                kept.append(int(place))
        answer = model.answer(image)
        np.testing.assert_allclose(answer["scores"], scores.max(axis=1)[kept], atol=1e-4)
        np.testing.assert_array_equal(answer["classes"], scores.argmax(axis=1)[kept] + 1)
        np.testing.assert_allclose(answer["boxes"], np.clip(corners[kept], 0, 1), atol=1e-4)
        same = {name: value.numpy()[0] for name, value in by_the_rule({"image": tf.constant(image[None])}).items()}
        assert same["count"] == len(kept)
        for name in ("boxes", "scores", "classes"):
            np.testing.assert_allclose(same[name], answer[name], atol=1e-4)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    both = sides.prod()
    return both / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - both)


def test_whole_numbers_take_pixels_as_they_are(folder: Path) -> None:
    model, exact = (LiteModel(folder / f"detection/model_{kind}.tflite") for kind in ("int8", "float32"))
    details = model._interpreter.get_input_details()[0]
    assert details["dtype"] == np.uint8
    scale, zero = details["quantization"]
    assert scale == pytest.approx(2 / 255, rel=0.01) and zero in (127, 128)
    image = examples("detection", 1)[0]
    answer, expected = model.answer(image), exact.answer(image)
    np.testing.assert_allclose(answer["scores"][:3], expected["scores"][:3], atol=0.05)
    assert set(answer["classes"]) <= {1, 2, 3} and answer["classes"][0] == expected["classes"][0]
    classes = model._values(next(one for one in model._outputs if one["name"] == "classes"))
    assert (classes == np.rint(classes)).all()


@pytest.mark.parametrize("kind", ["classification", "several labels", "video"])
def test_a_classifier_gives_a_number_for_each_label(folder: Path, kind: str) -> None:
    network, task = opinionated(kind)
    model = LiteModel(folder / kind / "model.tflite")
    name = "scores" if kind == "several labels" else "probabilities"
    assert model.task == MODELS[kind].task
    for example in examples(kind, 3):
        expected = task.predict(network(example[None], training=False))[name].numpy()[0]
        assert expected.std() > 0.01
        np.testing.assert_allclose(model.answer(example)[name], expected, atol=1e-4)


def test_labels_and_normalization_are_inside_the_file(folder: Path) -> None:
    path = folder / "detection/model.tflite"
    metadata = read_metadata(path)
    assert metadata.labels == CLASSES
    assert (metadata.mean, metadata.deviation) == ((127.5,), (127.5,))
    assert metadata.outputs == ("location", "category", "score", "number of detections")
    with zipfile.ZipFile(path) as archive:
        assert archive.read("labels.txt") == (folder / "detection/labels.txt").read_bytes()


def test_metadata_stands_where_readers_of_other_software_look(folder: Path) -> None:
    """TensorFlow's own schema of models names the buffer; in it stands M001, which the metadata's schema asks for."""
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf((folder / "detection/model.tflite").read_bytes())
    [buffer] = [entry.buffer for entry in model.metadata if entry.name == b"TFLITE_METADATA"]
    assert bytes(model.buffers[buffer].data)[4:8] == b"M001"


def test_anchors_are_told_by_centre_and_size() -> None:
    np.testing.assert_allclose(centre_boxes(np.array([[0.1, 0.2, 0.5, 0.8]])), [[0.3, 0.5, 0.4, 0.6]])


@pytest.mark.usefixtures("converts_apart")
def test_what_cannot_be_converted_is_named() -> None:
    module = tf.Module()
    given = tf.TensorSpec([4], tf.float32)
    module.answer = tf.function(lambda x: {"y": tf.math.bessel_i0(x)}, input_signature=[given])
    printed = r"^export\.formats: float32 .*\(TensorFlow Lite has no \w*BesselI0\)"
    with pytest.raises(ConfigError, match=printed):
        convert(module, ["float32"], lambda: iter(()))


@pytest.mark.usefixtures("converts_apart")
def test_the_process_that_exports_never_calls_the_converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps memory at each call, until its process ends."""
    monkeypatch.delattr(tf.lite, "TFLiteConverter")
    network, task = opinionated("classification")
    written = write_files(
        network, MODELS["classification"], task, CLASSES, FAST,
        about=ModelMetadata("t"), representative=lambda: iter(()), folder=tmp_path,
    )  # fmt: skip
    assert list(written) == ["float32"] and (tmp_path / "model.tflite").stat().st_size > 1000


@pytest.mark.usefixtures("converts_apart")
def test_a_process_of_its_own_writes_the_bytes_that_this_one_would(tmp_path: Path) -> None:
    """TensorFlow's converter, called here as its documents say, with the same examples."""
    network, task = opinionated("detection")
    module = lite_module(network, task, len(CLASSES), EVERY)
    seen = [image[None] / np.float32(127.5) - 1 for image in examples("detection", 8)]
    forms = ("float32", "float16", "dynamic", "int8")
    converted = convert(module, forms, lambda: iter([image] for image in seen))
    assert list(converted) == list(forms)
    tf.saved_model.save(module, str(tmp_path), module.answer.get_concrete_function())
    for form, file in converted.items():
        converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path))
        converter.allow_custom_ops = True
        converter.optimizations = [] if form == "float32" else [tf.lite.Optimize.DEFAULT]
        if form == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if form == "int8":
            converter.representative_dataset = lambda: ([image] for image in seen)
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = tf.uint8
        assert converter.convert() == file, form


@pytest.mark.usefixtures("converts_apart")
@pytest.mark.parametrize(
    ("number", "kind", "parts"),
    [(signal.SIGKILL, WorkspaceError, ("export.formats", "SIGKILL")), (signal.SIGINT, KeyboardInterrupt, ())],
)
def test_a_converter_that_is_ended_is_one_line_and_leaves_no_file(
    number: int, kind: type[BaseException], parts: tuple[str, ...], tmp_path: Path
) -> None:
    network, task = opinionated("classification")
    before = psutil.Process().children()

    def representative() -> Iterator[list[np.ndarray]]:
        [child] = set(psutil.Process().children()) - set(before)
        child.send_signal(number)
        while child.status() != psutil.STATUS_ZOMBIE:
            yield [examples("classification", 1) / np.float32(127.5) - 1]

    with pytest.raises(kind) as raised:
        list(write_files(
            network, MODELS["classification"], task, CLASSES, Export(formats=("int8",)),
            about=ModelMetadata("t"), representative=representative, folder=tmp_path,
        ))  # fmt: skip
    assert missing_in(str(raised.value), *parts) == [] and "\n" not in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"labels.txt", "label_map.pbtxt"}


ALONE = """
import json, sys, zipfile
import numpy as np
from tensorflow.lite.python.interpreter import Interpreter

path = sys.argv[1]
net = Interpreter(model_path=path)
net.allocate_tensors()
[given] = net.get_input_details()
net.set_tensor(given["index"], np.load(sys.argv[2])[None] / np.float32(127.5) - 1)
net.invoke()
boxes, classes, scores, count = (net.get_tensor(output["index"])[0] for output in net.get_output_details())
labels = zipfile.ZipFile(path).read("labels.txt").decode().splitlines()
found = [[labels[int(label)], round(float(score), 3)] for label, score in zip(classes, scores)]
print(json.dumps({"found": found, "ours": [name for name in sys.modules if name.startswith("bakeoff")]}))
"""


@pytest.mark.slow
def test_the_interpreter_alone_finds_and_names_the_same(folder: Path, tmp_path: Path) -> None:
    path, image = folder / "fast/model.tflite", examples("detection", 1)[0]
    np.save(tmp_path / "image.npy", image)
    (tmp_path / "alone.py").write_text(ALONE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "alone.py", str(path), "image.npy"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    printed = json.loads(done.stdout)
    answer = LiteModel(path).answer(image)
    texts = [CLASSES[label - 1] for label in answer["classes"]]
    assert printed["ours"] == []
    assert printed["found"] == [
        [text, round(float(score), 3)] for text, score in zip(texts, answer["scores"], strict=True)
    ]
